import { expect, it } from 'vitest';
import type { Inspection } from '../api/types';
import {
  compare,
  comparedText,
  decodeEstimate,
  type Estimate,
  estimateOf,
  estimateRows,
  estimateText,
  notesOf,
  rememberEstimate,
  truthOf,
} from './estimate';

const MB = 1024 * 1024;
const ANSWER = {
  buckets: { considered: 5, pruned_by_time: 2, pruned_by_header: 0, quarantined: 0, to_read: 3 },
  rows: 1_000,
  bytes: 6 * MB,
  tiers: { memory: 5 * MB, disk: 0, store: MB, requests: 2 },
  hot: { buckets: 1, rows: 10, memory: MB, disk: 0 },
  notes: ['at most'],
};
const decoded = (more: Record<string, unknown> = {}) =>
  decodeEstimate({ ...ANSWER, ...more }) as Estimate;

it('hot buckets are counted with those in object storage', () => {
  const { buckets, bytes, hotBytes, tiers } = decoded();
  expect([buckets.considered, buckets.toRead, bytes, hotBytes]).toEqual([6, 4, 6 * MB, MB]);
  expect(tiers).toEqual({ memory: 5 * MB, disk: 0, store: MB, requests: 2 });
});

it('a search that reads no events has no estimate', () => {
  expect(decodeEstimate(null)).toBeNull();
  expect(decodeEstimate(undefined)).toBeNull();
});

it('the estimate is a line: what is read, and its price', () => {
  expect(estimateText(decoded(), 0.4)).toBe('At most 7.0 MB · $0.00080');
  const none = { considered: 5, pruned_by_time: 5, to_read: 0 };
  expect(estimateText(decoded({ buckets: none, hot: null }), 0.4)).toBe('Nothing to read');
});

it('where indexers have the caches, tiers and price are unknown', () => {
  const far = decoded({ tiers: null, hot: null });
  expect(estimateText(far, 0.4)).toBe('At most 6.0 MB in 3 buckets');
  expect(estimateRows(far, 0.4).map(([name]) => name)).not.toContain('Price');
});

it('the truth stands beside the estimate', () => {
  const inspection = {
    scan: { buckets_searched: 2, events_scanned: 250 },
    tiers: [{ name: 'dram', bytes: 3 * MB, blocks: 1, seconds: 0 }],
    storeRequests: 1,
    dollars: 0.0004,
    pricePer1000: 0.4,
  } as unknown as Inspection;
  const truth = truthOf(inspection);
  expect(comparedText(decoded(), truth, 250)).toBe('50.0% of the estimated 6.0 MB');
  const rows = compare(decoded(), truth, 0.4);
  const shares = Object.fromEntries(rows.map(({ what, share }) => [what, share]));
  expect(shares).toMatchObject({ Buckets: '50.0%', Events: '25.0%', Bytes: '50.0%' });
  expect(rows.at(-1)).toEqual({
    what: 'Price',
    estimated: '$0.00080',
    read: '$0.00040',
    share: '50.0%',
  });
});

it('a search that reads more than its estimate has a multiple of it', () => {
  const read = (dram: number) => {
    const bytes = { dram, nvme: 0, store: 0 };
    return { bytes, buckets: 4, events: 1, requests: 0, dollars: 0 };
  };
  const text = (share: number) => comparedText(decoded(), read(share * 6 * MB), 1);
  expect(text(1)).toBe('100% of the estimated 6.0 MB');
  expect(text(1.02)).toBe('102% of the estimated 6.0 MB');
  expect(text(2.62)).toBe('2.6 times the estimated 6.0 MB');
  expect(text(1234)).toBe('1,234 times the estimated 6.0 MB');
  const shares = compare(decoded(), read(2.62 * 6 * MB), 0.4).map(({ share }) => share);
  expect(shares).toContain('2.6 times');
});

it('hot buckets are not part of what is compared', () => {
  const truth = { buckets: 1, events: 1, requests: 0, dollars: 0 };
  const none = { bytes: { dram: 0, nvme: 0, store: 0 }, ...truth };
  expect(notesOf(decoded(), none)).toEqual(['at most']);
  expect(notesOf(decoded(), { ...none, bytes: { dram: 7 * MB, nvme: 0, store: 0 } })).toHaveLength(
    2,
  );
  expect(comparedText(decoded({ bytes: 0 }), none, 0)).toBe('Only hot buckets were read');
  const far = decoded({ bytes: 0, hot: null, tiers: null });
  expect(comparedText(far, none, 0)).toBe('Nothing had to be read');
  // In a cluster, the estimate does not know the hot buckets of the indexers.
  expect(comparedText(far, none, 60_000)).toBe('Only hot buckets were read');
});

it('estimates are kept by their jobs, the last fifty', () => {
  const map = new Map<string, string>();
  const storage = {
    getItem: (key: string) => map.get(key) ?? null,
    setItem: (key: string, value: string) => void map.set(key, value),
  };
  for (let job = 0; job < 60; job += 1) rememberEstimate(storage, `sid${job}`, decoded());
  expect(estimateOf(storage, 'sid59')?.rows).toBe(1_000);
  expect(estimateOf(storage, 'sid9')).toBeNull();
  map.set('karst.estimates', 'broken');
  expect(estimateOf(storage, 'sid59')).toBeNull();
});

import { expect, it } from 'vitest';
import { decodeInspection } from '../api/decode';
import {
  costText,
  counterRows,
  duration,
  longest,
  operatorRows,
  readText,
  size,
} from './inspection';

const INSPECTION = decodeInspection({
  inspection: {
    scan: {
      buckets_considered: 1200,
      buckets_searched: 4,
      events_matched: 7,
      parts: [
        {
          indexer: 'one',
          buckets: 3,
          events_scanned: 9,
          cpu: 1.5,
          reads: { dram: { bytes: 5 }, store: { bytes: 7 } },
          phases: ['open', 'read', 'decode', 'filter', 'extract'].map((name, place) => ({
            name,
            seconds: place % 4,
          })),
        },
      ],
    },
    reads: { store_requests: 3 },
    dollars: 0.0000012,
    s3_price_get_per_1000: 0.0004,
    plans: [
      { name: 'top', inputs: [{ name: 'left', inputs: [{ name: 'leaf' }] }, { name: 'right' }] },
    ],
    part_plans: [{ indexer: 'one', plan: { name: 'gather', inputs: [{ name: 'scan', rows: 7 }] } }],
  },
});

it('lists operators from the last to the first, each below what it feeds', () => {
  const rows = INSPECTION.plans.flatMap((plan) => operatorRows(plan));
  expect(rows.map(({ depth, operator }) => `${depth} ${operator.name}`)).toEqual([
    '0 top',
    '1 left',
    '2 leaf',
    '1 right',
  ]);
});

it('counts what the server does not mention as none', () => {
  const [buckets, , events] = counterRows(INSPECTION);
  expect(buckets?.counts).toMatch(/^1,200 considered, 0 pruned by time, .*, 4 searched$/);
  expect(events?.counts).toBe('0 scanned, 7 matched');
});

it('shows what each process did of a search, and its longest phases', () => {
  const [part] = INSPECTION.parts;
  expect(part).toMatchObject({ indexer: 'one', cpu: 1.5, bytes: 12, storeBytes: 7, matched: 0 });
  expect(longest(part?.phases ?? [])).toBe('filter 3.00 s, decode 2.00 s, read 1.00 s');
});

it('has the plans of other processes, with their operators', () => {
  const [part] = INSPECTION.partPlans;
  expect(part?.indexer).toBe('one');
  const rows = part ? operatorRows(part.plan) : [];
  expect(rows.map(({ operator }) => [operator.name, operator.rows])).toEqual([
    ['gather', null],
    ['scan', 7],
  ]);
});

it('says that hot buckets are not meant where nothing was read', () => {
  expect(readText({ dram: 0, nvme: 0, store: 0 })).toBe('nothing read from stored buckets');
});

it('says what requests cost, and at which price', () => {
  expect(costText(INSPECTION)).toBe(
    '3 requests to object storage, $0.0000012 at $0.0004 per 1,000',
  );
  expect(costText({ ...INSPECTION, storeRequests: 0, dollars: 0 })).toBe(
    '0 requests to object storage, $0 at $0.0004 per 1,000',
  );
});

it('writes times and sizes in units that fit', () => {
  expect([0, 0.0000001, 0.0005, 0.25, 12.345].map(duration)).toEqual([
    '0',
    '<0.001 ms',
    '0.500 ms',
    '250.0 ms',
    '12.35 s',
  ]);
  expect([17, 2048, 5 * 1024 * 1024].map(size)).toEqual(['17 bytes', '2.0 KB', '5.0 MB']);
});

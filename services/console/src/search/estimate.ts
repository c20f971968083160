/** What a search reads at most, as the server estimates before it runs, and what it has read in the end. */

import { asObject } from '../api/decode';
import type { Inspection, JobCost } from '../api/types';
import { dollars, grouped, percent } from '../app/format';
import { size } from '../inspector/inspection';

export interface Estimate {
  buckets: {
    considered: number;
    byTime: number;
    byHeader: number;
    damaged: number;
    toRead: number;
  };
  rows: number;
  /** Of buckets in object storage. */
  bytes: number;
  /**
   * Of hot buckets, which are in no tier of the cache: what a search has read does not count them. 0 also where other
   * processes have them.
   */
  hotBytes: number;
  /** Null where the caches are those of other processes. */
  tiers: { memory: number; disk: number; store: number; requests: number } | null;
  notes: string[];
}

const count = (value: unknown): number => (typeof value === 'number' ? value : 0);

/** Null for a search that reads no events. */
export function decodeEstimate(body: unknown): Estimate | null {
  if (typeof body !== 'object' || body === null) return null;
  const root = asObject(body);
  const buckets = asObject(root.buckets);
  const hot = asObject(root.hot);
  const tiers = root.tiers === null ? null : asObject(root.tiers);
  return {
    buckets: {
      considered: count(buckets.considered) + count(hot.buckets),
      byTime: count(buckets.pruned_by_time),
      byHeader: count(buckets.pruned_by_header),
      damaged: count(buckets.quarantined),
      toRead: count(buckets.to_read) + count(hot.buckets),
    },
    rows: count(root.rows),
    bytes: count(root.bytes),
    hotBytes: count(hot.memory) + count(hot.disk),
    tiers: tiers && {
      memory: count(tiers.memory),
      disk: count(tiers.disk),
      store: count(tiers.store),
      requests: count(tiers.requests),
    },
    notes: Array.isArray(root.notes) ? root.notes.map(String) : [],
  };
}

/** Dollars of 1,000 GET requests, unless `s3_price_get_per_1000` in limits.conf says otherwise. */
export const DEFAULT_PRICE = 0.0004;

export const priceOf = (requests: number, per1000: number): number => (requests * per1000) / 1_000;

/** `At most 6.7 MB · $0.0000012`. */
export function estimateText(estimate: Estimate, per1000: number): string {
  const { bytes, hotBytes, tiers, buckets } = estimate;
  if (buckets.toRead === 0) return 'Nothing to read';
  const most = `At most ${size(bytes + hotBytes)}`;
  if (!tiers) return `${most} in ${grouped(buckets.toRead)} buckets`;
  return `${most} · ${dollars(priceOf(tiers.requests, per1000))}`;
}

export type Row = [name: string, value: string];

export function estimateRows(estimate: Estimate, per1000: number): Row[] {
  const { buckets, rows, bytes, hotBytes, tiers } = estimate;
  const list: Row[] = [
    ['Buckets of the indexes', grouped(buckets.considered)],
    ['Outside of the time range', grouped(buckets.byTime)],
    ['Pruned by the catalog', grouped(buckets.byHeader)],
  ];
  if (buckets.damaged > 0) list.push(['Skipped as damaged', grouped(buckets.damaged)]);
  list.push(
    ['Buckets to read', grouped(buckets.toRead)],
    ['Events', grouped(rows)],
    ['Bytes in buckets', size(bytes)],
  );
  if (tiers) {
    list.push(
      ['of them in memory', size(tiers.memory)],
      ['on the local disk', size(tiers.disk)],
      ['only in object storage', size(tiers.store)],
    );
  }
  if (hotBytes > 0) list.push(['Bytes in hot buckets', size(hotBytes)]);
  if (tiers) {
    list.push(
      ['Requests to object storage', grouped(tiers.requests)],
      ['Price', dollars(priceOf(tiers.requests, per1000))],
    );
  }
  return list;
}

/** Notes of the server, and why more can be read than there is. */
export function notesOf({ notes, bytes }: Estimate, truth: Truth | null): string[] {
  const isAbove = truth !== null && total(truth.bytes) > bytes;
  return isAbove ? [...notes, 'blocks that are read repeatedly are counted repeatedly'] : notes;
}

export interface Compared {
  what: string;
  estimated: string;
  read: string;
  share: string;
}

/** What a search has read; null where it is not known. */
export interface Truth {
  buckets: number | null;
  events: number | null;
  bytes: { dram: number; nvme: number; store: number };
  requests: number;
  dollars: number;
}

export function truthOf({ scan, tiers, storeRequests, dollars }: Inspection): Truth {
  const bytes = (name: string) => tiers.find((tier) => tier.name === name)?.bytes ?? 0;
  return {
    buckets: scan.buckets_searched ?? null,
    events: scan.events_scanned ?? null,
    bytes: { dram: bytes('dram'), nvme: bytes('nvme'), store: bytes('store') },
    requests: storeRequests,
    dollars,
  };
}

export const truthOfCost = ({ bytes, storeRequests, dollars }: JobCost): Truth => ({
  buckets: null,
  events: null,
  bytes,
  requests: storeRequests,
  dollars,
});

const total = ({ dram, nvme, store }: Truth['bytes']) => dram + nvme + store;

/** `18.0%`, `2.6 times`; empty if nothing was estimated. */
function shareText(read: number, most: number): string {
  const times = most > 0 ? read / most : 0;
  if (times < 1.05) return percent(read, most);
  return `${times < 100 ? times.toFixed(1) : grouped(Math.round(times))} times`;
}

/** The estimate beside what the search has read. */
export function compare(estimate: Estimate, truth: Truth, per1000: number): Compared[] {
  const { tiers } = estimate;
  const rows: Compared[] = [];
  const add = (what: string, most: number, read: number | null, text = grouped) => {
    if (read === null) return;
    rows.push({ what, estimated: text(most), read: text(read), share: shareText(read, most) });
  };
  add('Buckets', estimate.buckets.toRead, truth.buckets);
  add('Events', estimate.rows, truth.events);
  add('Bytes', estimate.bytes, total(truth.bytes), size);
  if (!tiers) return rows;
  add('Bytes from object storage', tiers.store, truth.bytes.store, size);
  add('Requests', tiers.requests, truth.requests);
  add('Price', priceOf(tiers.requests, per1000), truth.dollars, dollars);
  return rows;
}

/** `18.0% of the estimated 6.7 MB`, `2.6 times the estimated 6.7 MB`. `scanned`: events that the job has read. */
export function comparedText(estimate: Estimate, truth: Truth, scanned: number): string {
  const share = shareText(total(truth.bytes), estimate.bytes);
  const joined = share.endsWith('%') ? `${share} of` : share;
  if (share !== '') return `${joined} the estimated ${size(estimate.bytes)}`;
  return estimate.hotBytes > 0 || scanned > 0
    ? 'Only hot buckets were read'
    : 'Nothing had to be read';
}

const KEY = 'karst.estimates';
/** Estimates that are kept: the oldest are dropped. */
const MOST = 50;

type Storage = Pick<globalThis.Storage, 'getItem' | 'setItem'>;

function kept(storage: Storage): [string, Estimate][] {
  try {
    const list: unknown = JSON.parse(storage.getItem(KEY) ?? '[]');
    return Array.isArray(list) ? list : [];
  } catch {
    return [];
  }
}

/** Keeps the estimate of a job in the browser, until the job inspector asks for it. */
export function rememberEstimate(storage: Storage, sid: string, estimate: Estimate): void {
  const others = kept(storage).filter(([id]) => id !== sid);
  try {
    storage.setItem(KEY, JSON.stringify([...others, [sid, estimate]].slice(-MOST)));
  } catch {
    // A full storage costs the comparison, nothing else.
  }
}

export const estimateOf = (storage: Storage, sid: string): Estimate | null =>
  kept(storage).find(([id]) => id === sid)?.[1] ?? null;

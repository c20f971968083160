/** The rows of the job inspector's tables, from what the server says of a search. */

import type { InspectedOperator, Inspection } from '../api/types';
import { dollars as amount, grouped, plural } from '../app/format';

/** How many phases of a part are named. */
const LONGEST = 3;
/** Why buckets were left out or read, in the order in which that is decided. */
const BUCKETS: [string, string][] = [
  ['buckets_considered', 'considered'],
  ['buckets_pruned_by_time', 'pruned by time'],
  ['buckets_pruned_by_summary', 'pruned by summary'],
  ['buckets_pruned_by_terms', 'pruned by the term index'],
  ['buckets_counted', 'counted by the catalog'],
  ['buckets_searched', 'searched'],
];
const GRANULES: [string, string][] = [
  ['granules_considered', 'considered'],
  ['granules_pruned_by_bounds', 'pruned by numbers'],
  ['granules_counted', 'counted by the term index'],
  ['granules_read', 'read'],
];
const EVENTS: [string, string][] = [
  ['events_scanned', 'scanned'],
  ['events_matched', 'matched'],
];

export interface CounterRow {
  what: string;
  counts: string;
}

export function counterRows({ scan }: Inspection): CounterRow[] {
  const row = (what: string, names: [string, string][]) => ({
    what,
    counts: names.map(([name, text]) => `${grouped(scan[name] ?? 0)} ${text}`).join(', '),
  });
  return [row('Buckets', BUCKETS), row('Granules', GRANULES), row('Events', EVENTS)];
}

/** The phases that took most of the time, the longest first. */
export function longest(phases: { name: string; seconds: number }[]): string {
  const taken = phases.filter(({ seconds }) => seconds > 0);
  const first = taken.sort((a, b) => b.seconds - a.seconds).slice(0, LONGEST);
  return first.map(({ name, seconds }) => `${name} ${duration(seconds)}`).join(', ');
}

/** An operator and how deep it stands below the last one of its plan. */
export interface OperatorRow {
  depth: number;
  operator: InspectedOperator;
}

export function operatorRows(plan: InspectedOperator, depth = 0): OperatorRow[] {
  const below = plan.inputs.flatMap((input) => operatorRows(input, depth + 1));
  return [{ depth, operator: plan }, ...below];
}

export function duration(seconds: number): string {
  if (seconds >= 1) return `${seconds.toFixed(2)} s`;
  if (seconds >= 0.000_001) return `${(seconds * 1000).toFixed(seconds < 0.01 ? 3 : 1)} ms`;
  return seconds > 0 ? '<0.001 ms' : '0';
}

const UNITS = ['bytes', 'KB', 'MB', 'GB', 'TB'];

export function size(bytes: number): string {
  let value = bytes;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? value : value.toFixed(1)} ${UNITS[unit]}`;
}

/** What a search read: all of it, and of that from object storage, which costs money. */
export function readText(bytes: { dram: number; nvme: number; store: number }): string {
  const all = bytes.dram + bytes.nvme + bytes.store;
  if (all === 0) return 'nothing read from stored buckets';
  return bytes.store > 0
    ? `${size(all)} read, ${size(bytes.store)} from store`
    : `${size(all)} read`;
}

const TIERS: Record<string, string> = { dram: 'Memory', nvme: 'Disk', store: 'Object storage' };

export const tierName = (name: string): string => TIERS[name] ?? name;

export function costText({ storeRequests, dollars, pricePer1000 }: Inspection): string {
  const requests = plural(storeRequests, 'request');
  return `${requests} to object storage, ${amount(dollars)} at $${pricePer1000} per 1,000`;
}

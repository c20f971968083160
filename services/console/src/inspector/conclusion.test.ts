import { expect, it } from 'vitest';
import type { Inspection } from '../api/types';
import { conclusions } from './conclusion';

const phase = (name: string, seconds: number) => ({
  name,
  seconds,
  invocations: 1,
  rowsIn: null,
  rowsOut: null,
});
const inspection = (change: Partial<Inspection>): Inspection => ({
  runDuration: 2,
  phases: [],
  plans: [],
  tiers: [],
  storeRequests: 0,
  dollars: 0,
  pricePer1000: 0.0004,
  scan: {},
  prunedBy: [],
  answeredFrom: [],
  parts: [],
  partPlans: [],
  ...change,
});

it('names the phase that took the time', () => {
  const phases = [phase('read', 9), phase('filter', 1)];
  expect(conclusions(inspection({ phases }))).toEqual([
    'It ran 2.00 s; 90.0% of the work was reading blocks.',
  ]);
  const even = ['plan', 'prune', 'read', 'filter'].map((name) => phase(name, 1));
  expect(conclusions(inspection({ phases: even }))).toEqual(['It ran 2.00 s.']);
});

it('says what did not have to be read, and from where the rest came', () => {
  const scan = {
    buckets_considered: 1210,
    buckets_pruned_by_time: 1000,
    buckets_pruned_by_terms: 204,
    events_scanned: 5000,
    events_matched: 12,
  };
  const tier = (name: string, bytes: number) => ({ name, bytes, blocks: 1, seconds: 0 });
  const tiers = [tier('dram', 1024), tier('nvme', 0), tier('store', 1024)];
  expect(conclusions(inspection({ scan, tiers })).slice(1)).toEqual([
    '1,204 of 1,210 buckets were pruned: 1,000 by time, 204 by words.',
    '2.0 KB were read, 50.0% of that from the cache. 12 of 5,000 events matched.',
  ]);
});

it('says when nothing could be pruned', () => {
  const of = (buckets_considered: number) =>
    conclusions(inspection({ scan: { buckets_considered } }))[1];
  expect(of(3)).toBe('None of 3 buckets could be pruned.');
  expect(of(1)).toBe('The only bucket could not be pruned.');
});

import { expect, it } from 'vitest';
import type { Entry } from '../api/types';
import { indexesOf, indexHint } from './indexHint';

const entry = (name: string, minTime: string | null = '', maxTime: string | null = ''): Entry => ({
  name,
  app: 'system',
  owner: 'nobody',
  sharing: 'system',
  path: '',
  links: [],
  readers: [],
  writers: [],
  canWrite: false,
  isRemovable: false,
  content: { minTime, maxTime },
});
const ENTRIES = [
  entry('main'),
  entry('web', '2026-01-01T00:00:00+0000', '2026-03-01T12:00:00+0000'),
  entry('web_old', '2025-01-01T00:00:00+0000', '2025-03-01T12:00:00+0000'),
  entry('_audit', '2026-11-01T00:00:00+0000', '2026-11-28T12:00:00+0000'),
];
const range = (earliestTime: string, latestTime: string) => ({ earliestTime, latestTime });
const DAY = range('2026-11-27T12:00:00.000+00:00', '2026-11-28T12:00:00.000+00:00');
const epoch = (text: string) => Date.parse(text) / 1000;

it.each([
  ['index=web error', ['web']],
  ['(index="web" OR index=main) x', ['web', 'main']],
  ['index IN (web, "main")', ['web', 'main']],
  ['NOT index=web index!=main error', []],
  ['myindex=web other.index=b', []],
  ['error | search index=web', []],
])('%s names the indexes %j', (query, names) => expect(indexesOf(query)).toEqual(names));

it('the newest event of an index that is older than the range is named', () => {
  const hint = { kind: 'older', index: 'web', time: epoch('2026-03-01T12:00:00Z') };
  expect(indexHint('index=web error', DAY, ENTRIES)).toEqual(hint);
  expect(indexHint('index=web* error | stats count by a', DAY, ENTRIES)).toEqual(hint);
});

it('the oldest event is named where all are younger than the range', () =>
  expect(
    indexHint('index=web', range('2024-01-01T00:00:00Z', '2024-02-01T00:00:00Z'), ENTRIES),
  ).toEqual({ kind: 'younger', index: 'web', time: epoch('2026-01-01T00:00:00Z') }));

it('an unknown index and one without events are named', () => {
  expect(indexHint('index=wbe', DAY, ENTRIES)).toEqual({ kind: 'unknown', index: 'wbe' });
  expect(indexHint('index=main', DAY, ENTRIES)).toEqual({ kind: 'empty', index: 'main' });
  expect(indexHint('index=* x', DAY, ENTRIES)).toMatchObject({ kind: 'older', index: 'web' });
});

it('there is no hint where the user may not know the times of an index', () =>
  expect(indexHint('index=web', DAY, [entry('web', null, null)])).toBeNull());

it('there is no hint where the range has events, or the index is not known', () => {
  expect(indexHint('index=_audit x', DAY, ENTRIES)).toBeNull();
  expect(indexHint('index=web', range('', ''), ENTRIES)).toBeNull();
  expect(indexHint('`web_events` x', DAY, ENTRIES)).toBeNull();
  expect(indexHint('| makeresults count=0', DAY, ENTRIES)).toBeNull();
  expect(indexHint('error', DAY, ENTRIES)).toEqual({ kind: 'none' });
});

import { expect, it } from 'vitest';
import type { Summary } from '../api/types';
import { differences, shareText } from './differences';
import { earlier, isPlain } from './ranges';

const summary = (eventCount: number, fields: Record<string, Record<string, number>>): Summary => ({
  eventCount,
  fields: Object.entries(fields).map(([name, values]) => ({
    name,
    count: Object.values(values).reduce((sum, count) => sum + count, 0),
    distinctCount: Object.keys(values).length,
    isExact: true,
    numericCount: 0,
    modes: Object.entries(values).map(([value, count]) => ({ value, count })),
  })),
});

it('the largest differences come first, of parts and not of counts', () => {
  const now = summary(100, { status: { 200: 50, 500: 50 }, host: { a: 100 } });
  const before = summary(1_000, { status: { 200: 990, 500: 10 }, host: { a: 1_000 } });
  expect(differences(now, before)).toEqual([
    { field: 'status', value: '200', now: 0.5, before: 0.99 },
    { field: 'status', value: '500', now: 0.5, before: 0.01 },
  ]);
});

it('a field of one set alone differs; internal fields and ids do not count', () => {
  const ids = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`id${at}`, 1]));
  const now = summary(50, { user: { eve: 50 }, _indextime: { 1: 50 }, id: ids });
  expect(differences(now, summary(0, {}))).toEqual([
    { field: 'user', value: 'eve', now: 1, before: 0 },
  ]);
});

it('a value that one set does not list is compared with a bound, never with zero', () => {
  const now = summary(100, { path: { '/a': 60, '/b': 40 } });
  const before = summary(100, { path: { '/a': 45, '/c': 10 } });
  const path = before.fields[0];
  if (path) path.distinctCount = 9;
  // `/b` has less than 10 % before. `/c` is not there now: all values are listed.
  expect(differences(now, before)).toEqual([
    { field: 'path', value: '/b', now: 0.4, before: 0.1, below: 'before' },
    { field: 'path', value: '/a', now: 0.6, before: 0.45 },
    { field: 'path', value: '/c', now: 0, before: 0.1 },
  ]);
  if (path) path.isExact = false;
  expect(differences(now, before).map(({ value }) => value)).toEqual(['/a', '/c']);
});

it('a field that is left out of one set is in no row', () => {
  const ids = Object.fromEntries(Array.from({ length: 50 }, (_, at) => [`id${at}`, 1]));
  expect(differences(summary(50, { id: ids }), summary(50, { id: { id1: 50 } }))).toEqual([]);
});

it('a part is shown with one sign where it is a bound', () => {
  const shown = [0, 0.000_4, 0.25].map((part) => [shareText(part, false), shareText(part, true)]);
  expect(shown).toEqual([
    ['0%', '<0%'],
    ['<0.1%', '<0.1%'],
    ['25.0%', '<25.0%'],
  ]);
});

it('the other range is as long as this one', () => {
  const [from, to] = ['2026-11-26T10:00:00.000+00:00', '2026-11-26T11:00:00.000+00:00'];
  expect(earlier(from, to, 'window')).toEqual({ earliest: '1795683600', latest: '1795687200' });
  expect(earlier(from, to, 'day')).toEqual({ earliest: '1795600800', latest: '1795604400' });
  expect(earlier('', to, 'window')).toBeNull();
});

it('a search with commands, macros or searches within it does not run by itself', () => {
  expect(isPlain('index=main "a | b" error')).toBe(false);
  expect(isPlain('index=main status>=500 OR user="x"')).toBe(true);
  for (const query of ['a | delete', '`m`', 'a [search b | outputlookup x]', '| makeresults']) {
    expect(isPlain(query), query).toBe(false);
  }
});

import { expect, it } from 'vitest';
import type { EventRow } from '../api/types';
import { afterLook, EMPTY_TAIL, lookSearch, MOST_KEPT } from './tail';

const event = (raw: string, indexed: number): EventRow => ({
  _raw: raw,
  _time: '2026-11-26T10:00:00',
  _indextime: String(indexed),
  host: 'h',
});
const texts = (rows: EventRow[]) => rows.map((row) => row._raw);

it('an event of two looks is shown once, one that is there twice twice', () => {
  const one = afterLook(EMPTY_TAIL, [event('b', 101), event('a', 100)], 2);
  const two = afterLook(one, [event('c', 102), event('b', 101), event('b', 101)], 3);
  expect(texts(two.rows)).toEqual(['c', 'b', 'b', 'a']);
  expect(two.total).toBe(4);
  expect(
    texts(afterLook(two, [event('c', 102), event('b', 101), event('b', 101)], 3).rows),
  ).toEqual(['c', 'b', 'b', 'a']);
});

it('looks overlap, and never go back before the first', () => {
  expect(lookSearch('a OR b', EMPTY_TAIL, 1.2)).toBe('(a OR b) _index_earliest=-5s');
  const one = afterLook(EMPTY_TAIL, [event('a', 100)], 1);
  expect(lookSearch('a', one, 4)).toBe('(a) _index_earliest=100');
  const two = afterLook(one, [event('b', 110)], 1);
  expect(lookSearch('', two, 6)).toBe('* _index_earliest=107');
});

it('a look that finds nothing changes nothing', () => {
  const one = afterLook(EMPTY_TAIL, [event('a', 100)], 1);
  const two = afterLook(one, [], 0);
  expect(two.rows).toBe(one.rows);
  expect([two.total, two.latest]).toEqual([1, 100]);
});

it('memory is limited, and more events than are shown are said', () => {
  let tail = EMPTY_TAIL;
  for (let look = 0; look < 30; look += 1) {
    const events = Array.from({ length: 400 }, (_, at) => event(`${look} ${at}`, 100 + 10 * look));
    tail = afterLook(tail, events, 500);
  }
  expect(tail.rows).toHaveLength(MOST_KEPT);
  expect(tail.isThinned).toBe(true);
  expect(tail.seen.size).toBe(400);
});

import { beforeEach, expect, it } from 'vitest';
import { AT_DRAFT, type KeyValueStore, readHistory, remember, step } from './history';

let store: KeyValueStore;

beforeEach(() => {
  const values = new Map<string, string>();
  store = {
    getItem: (key) => values.get(key) ?? null,
    setItem: (key, value) => void values.set(key, value),
  };
});

it('remembers searches newest first', () => {
  remember(store, 'a');
  expect(remember(store, 'b')).toEqual(['b', 'a']);
  expect(readHistory(store)).toEqual(['b', 'a']);
});

it('moves a repeated search to the front', () => {
  for (const query of ['a', 'b', 'a']) remember(store, query);
  expect(readHistory(store)).toEqual(['a', 'b']);
});

it('forgets the oldest beyond 200', () => {
  for (let number = 0; number < 250; number += 1) remember(store, `q${number}`);
  expect(readHistory(store)).toHaveLength(200);
  expect(readHistory(store)[0]).toBe('q249');
});

it('ignores blanks and a broken store', () => {
  expect(remember(store, '  ')).toEqual([]);
  store.setItem('karst.history', '{"not":"a list"}');
  expect(readHistory(store)).toEqual([]);
});

it('walks back and returns to what was typed', () => {
  const older = step(['b', 'a'], AT_DRAFT, 'draft', 'older');
  expect(older?.text).toBe('b');
  const back = older && step(['b', 'a'], older.cursor, 'b', 'newer');
  expect(back?.text).toBe('draft');
});

it('skips the newest search when it is the one shown', () =>
  expect(step(['b', 'a'], AT_DRAFT, 'b', 'older')?.text).toBe('a'));

it('stops at both ends', () => {
  expect(step([], AT_DRAFT, 'x', 'older')).toBeNull();
  expect(step(['a'], AT_DRAFT, 'x', 'newer')).toBeNull();
});

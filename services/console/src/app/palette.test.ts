import { expect, it } from 'vitest';
import { matching, type PaletteItem } from './palette';

const item = (group: string, label: string, detail?: string): PaletteItem => ({
  id: `${group}:${label}`,
  group,
  label,
  detail,
  run: () => {},
});
const ITEMS = [
  item('Pages', 'Search'),
  item('Pages', 'Jobs'),
  item('Reports', 'Nightly jobs', 'ops'),
  item('Searches', 'index=main error'),
];
const labels = (typed: string) => matching(ITEMS, typed).map((one) => one.label);

it('offers everything before a letter is typed', () => expect(labels('  ')).toHaveLength(4));

it('has what begins with the word before what holds it', () =>
  expect(labels('jobs')).toEqual(['Jobs', 'Nightly jobs']));

it('wants every word, in the label, the detail or the group', () => {
  expect(labels('ops nightly')).toEqual(['Nightly jobs']);
  expect(labels('page se')).toEqual(['Search']);
  expect(labels('nothing')).toEqual([]);
});

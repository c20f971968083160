import { expect, it } from 'vitest';
import { groupFields, isNumeric } from './fieldGroups';

const field = (name: string, count: number, numericCount = 0) => ({
  name,
  count,
  distinctCount: 1,
  isExact: true,
  numericCount,
  modes: [],
});

const SUMMARY = [
  field('status', 100, 100),
  field('rare', 3),
  field('host', 100),
  field('_cd', 100),
];

it('splits fields by choice and by how often they occur', () => {
  const groups = groupFields(SUMMARY, ['host', 'gone'], '');
  expect(groups.selected.map(({ name, count }) => [name, count])).toEqual([
    ['host', 100],
    ['gone', 0],
  ]);
  expect(groups.interesting.map(({ name }) => name)).toEqual(['status']);
  expect(groups.others.map(({ name }) => name)).toEqual(['rare']);
});

it('filters every group by part of the name', () => {
  const groups = groupFields(SUMMARY, ['host'], 'ST');
  expect(groups.selected.map(({ name }) => name)).toEqual(['host']);
  expect(groups.interesting.map(({ name }) => name)).toEqual(['status']);
  expect(groups.others).toEqual([]);
});

it('a field is numeric when all its values are', () =>
  expect([
    isNumeric(field('a', 2, 2)),
    isNumeric(field('a', 2, 1)),
    isNumeric(field('a', 0)),
  ]).toEqual([true, false, false]));

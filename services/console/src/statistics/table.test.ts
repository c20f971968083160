import { expect, it } from 'vitest';
import {
  cellNumber,
  cellText,
  columnWidths,
  isNumericColumn,
  nextSorting,
  sortedRows,
  visibleTable,
} from './table';

it('hides internal columns but not the time', () =>
  expect(
    visibleTable({
      fields: ['_time', 'count', '_span'],
      rows: [['t', '1', '60']],
      preview: false,
      messages: [],
    }),
  ).toMatchObject({
    columns: ['_time', 'count'],
    rows: [['t', '1']],
    numeric: [false, true],
  }));

it('sorts numbers by value and keeps empty cells last', () => {
  const rows = [['10'], [''], ['9'], [null], ['-1.5e1']];
  expect(sortedRows(rows, { column: 0, descending: false }).slice(0, 3)).toEqual([
    ['-1.5e1'],
    ['9'],
    ['10'],
  ]);
  expect(sortedRows(rows, { column: 0, descending: true }).slice(0, 3)).toEqual([
    ['10'],
    ['9'],
    ['-1.5e1'],
  ]);
});

it('sorts text apart from numbers and leaves the given rows alone', () => {
  const rows = [['b'], ['2'], ['a']];
  expect(sortedRows(rows, { column: 0, descending: false })).toEqual([['2'], ['a'], ['b']]);
  expect(rows[0]).toEqual(['b']);
});

it('a column is numeric when nothing in it is text', () => {
  expect(isNumericColumn([['1'], [''], ['2.5']], 0)).toBe(true);
  expect(isNumericColumn([['1'], ['n/a']], 0)).toBe(false);
  expect(isNumericColumn([[''], [null]], 0)).toBe(false);
});

it('takes neither hex nor lists nor blanks for numbers', () =>
  expect([cellNumber('0x10'), cellNumber(['1']), cellNumber(' '), cellNumber('Infinity')]).toEqual([
    null,
    null,
    null,
    null,
  ]));

it('a header goes through both directions and back', () => {
  const first = nextSorting(null, 1, true);
  const second = nextSorting(first, 1, true);
  expect([first?.descending, second?.descending, nextSorting(second, 1, true)]).toEqual([
    true,
    false,
    null,
  ]);
});

it('columns are as wide as their first rows, within limits', () => {
  const table = {
    columns: ['n', 'a long name of a field', 'text'],
    rows: [
      ['1', '2', 'x'.repeat(500)],
      ['3', '4', ['one', 'three']],
    ],
  };
  expect(columnWidths(table, cellText)).toEqual([6, 24, 60]);
});

import { expect, it } from 'vitest';
import {
  cellNumber,
  isNumericColumn,
  layoutOf,
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
  const lengths = [
    { first: 1, all: 1, lines: 1 },
    { first: 1, all: 20, lines: 1 },
    { first: 500, all: 500, lines: 1 },
    { first: 28, all: 28, lines: 1 },
  ];
  const columns = ['n', 'a long name of a field', 'text', '_time'];
  const table = {
    columns,
    time: 3,
    lengths: (at: number) => lengths[at] ?? { first: 0, all: 0, lines: 1 },
  };
  expect(layoutOf(table, 23)).toEqual({ widths: [6, 24, 60, 23], isEven: false });
});

it('rows are even where every cell fits into one line of its column', () => {
  const table = (first: number, all: number, lines: number) =>
    layoutOf({ columns: ['n'], time: -1, lengths: () => ({ first, all, lines }) }, 0).isEven;
  expect([table(10, 10, 1), table(10, 11, 1), table(3, 6, 1), table(3, 3, 2)]).toEqual([
    true,
    false,
    true,
    false,
  ]);
});

it('rows that no worker has read are not taken for even', () => {
  const rows = [['x'.repeat(12)], [['one', 'three']]];
  const found = visibleTable({ fields: ['a'], rows, preview: false, messages: [] });
  expect(layoutOf(found, 0)).toEqual({ widths: [12], isEven: false });
});

it.each([
  [['2026-11-20T21:00:00.000+00:00', '', null], 1],
  [['2026-11-20T21:00:00.000+00:00', 'All'], -1],
  [['01', '02'], -1],
  [['13.00'], -1],
])('%j under _time: the column of times is %i', (cells, time) => {
  const rows = cells.map((cell) => ['1', cell]);
  const results = { fields: ['count', '_time'], rows, preview: false, messages: [] };
  expect(visibleTable(results).time).toBe(time);
});

import { expect, it } from 'vitest';
import { visibleTable } from '../statistics/table';
import { columnsOf, resultRows, transfersOf } from './columns';

const BODY = {
  preview: false,
  fields: [{ name: '_time' }, 'n', 'list', '_span'],
  rows: [['t1', '10', ['a', 'b'], '60'], ['t2', null, null, '60'], ['', '9e1', 'c', '60'], ['t4']],
  messages: [{ type: 'WARN', text: 'cut' }],
};
const ROWS = [
  ['t1', '10', ['a', 'b'], '60'],
  ['t2', null, null, '60'],
  ['', '9e1', 'c', '60'],
  ['t4', null, null, null],
];

/** As it is after the way from the worker. */
const received = () => {
  const columns = columnsOf(BODY);
  return resultRows(structuredClone(columns, { transfer: transfersOf(columns) }));
};

it('rows are those of the answer, after they were columns', () => {
  const { fields, rows, preview, messages } = received();
  expect(fields).toEqual(['_time', 'n', 'list', '_span']);
  expect(rows).toHaveLength(4);
  expect([...rows]).toEqual(ROWS);
  expect(rows.map((row) => row[1])).toEqual(['10', null, '9e1', null]);
  expect(rows.slice(1, 3)).toEqual(ROWS.slice(1, 3));
  expect(rows.at(-1)).toEqual(ROWS[3]);
  expect(rows.some((row) => row[2] === 'c')).toBe(true);
  expect(rows.findLastIndex((row) => row[0] === '')).toBe(2);
  expect([preview, messages]).toEqual([false, [{ type: 'WARN', text: 'cut' }]]);
});

it('columns are known without the rows', () => {
  const { byColumn } = received();
  expect([0, 1, 2, 3].map((at) => byColumn?.isNumeric(at))).toEqual([false, true, false, true]);
  expect(byColumn?.cells(2)).toEqual([['a', 'b'], null, 'c', null]);
});

it('a table leaves out internal columns, and keeps the rest by row and by column', () => {
  const table = visibleTable(received());
  expect(table.columns).toEqual(['_time', 'n', 'list']);
  expect([...table.rows]).toEqual(ROWS.map((row) => row.slice(0, 3)));
  expect(table.numeric).toEqual([false, true, false]);
  expect(table.cells(1)).toEqual(['10', null, '9e1', null]);
});

it('texts beyond ASCII are those of the answer, by row and by column', () => {
  const texts = ['a', 'ü\ufeff€', '', '\ufeff𝄞x', 'b'];
  const { rows, byColumn } = (() => {
    const columns = columnsOf({ fields: ['t'], rows: texts.map((text) => [text]) });
    return resultRows(structuredClone(columns, { transfer: transfersOf(columns) }));
  })();
  expect(rows.map(([cell]) => cell)).toEqual(texts);
  expect(byColumn?.cells(0)).toEqual(texts);
});

it('lengths are those of lines, of lists by their items', () => {
  const rows = [['ab\ncde', ['x', 'yy\nzzzz']], ...Array.from({ length: 200 }, () => ['', null])];
  rows.push(['longer than that', null]);
  const { byColumn } = resultRows(columnsOf({ fields: ['t', 'l'], rows }));
  expect(byColumn?.lengths(0)).toEqual({ first: 3, all: 16, lines: 2 });
  expect(byColumn?.lengths(1)).toEqual({ first: 4, all: 4, lines: 3 });
});

it('what is no answer is an empty result', () => {
  for (const body of [{}, null, 7, { rows: 'x', fields: null }]) {
    expect(resultRows(columnsOf(body)).rows).toHaveLength(0);
  }
});

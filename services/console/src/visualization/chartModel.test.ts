import { expect, it } from 'vitest';
import { type Row, visibleTable } from '../statistics/table';
import { chartModel, clickedCell, defaultKind } from './chartModel';

/** As it comes from the server. */
const modelOf = ({ columns: fields, rows }: { columns: string[]; rows: Row[] }) =>
  chartModel(visibleTable({ fields, rows, preview: false, messages: [] }));

const TIMECHART = {
  columns: ['_time', 'web-01', 'web-02'],
  rows: [
    ['2026-11-20T21:00:00.000+00:00', '3', ''],
    ['2026-11-20T21:05:00.000+00:00', '4', '1'],
  ],
};

it('a timechart has a time axis, a line per column and gaps where nothing is', () => {
  const model = modelOf(TIMECHART);
  expect(model.isTime).toBe(true);
  expect(model.categories[0]).toBe(Date.UTC(2026, 10, 20, 21));
  expect(model.series).toEqual([
    { name: 'web-01', values: [3, 4] },
    { name: 'web-02', values: [null, 1] },
  ]);
  expect(defaultKind(model)).toBe('line');
});

it('one series over a short time is columns', () =>
  expect(defaultKind(modelOf({ columns: ['_time', 'count'], rows: TIMECHART.rows }))).toBe(
    'column',
  ));

it('the first text column names the categories', () => {
  const model = modelOf({
    columns: ['count', 'host', 'percent'],
    rows: [
      ['5', 'web-01', '50'],
      ['5', '', '50'],
    ],
  });
  expect(model.category).toBe('host');
  expect(model.categories).toEqual(['web-01', '(empty)']);
  expect(model.series.map((series) => series.name)).toEqual(['count', 'percent']);
});

it('numbers by numbers use the first as category', () =>
  expect(
    modelOf({
      columns: ['status', 'count'],
      rows: [
        ['200', '9'],
        ['404', '1'],
      ],
    }).categories,
  ).toEqual(['200', '404']));

it('one number is a single value', () =>
  expect(defaultKind(modelOf({ columns: ['count'], rows: [['42']] }))).toBe('single'));

it('many or long categories lie down', () => {
  const rows = Array.from({ length: 20 }, (_, index) => [`h${index}`, '1']);
  expect(defaultKind(modelOf({ columns: ['host', 'count'], rows }))).toBe('bar');
});

it('a table without numbers has no series', () =>
  expect(modelOf({ columns: ['a'], rows: [['x']] }).series).toEqual([]));

it('texts under _time are categories, and no time axis', () => {
  const model = modelOf({
    columns: ['_time', 'count'],
    rows: [
      ['01:00', '3'],
      ['02:00', '4'],
    ],
  });
  expect(model).toMatchObject({ isTime: false, categories: ['01:00', '02:00'] });
});

it('a place in a chart is a cell of its table', () => {
  const table = visibleTable({
    fields: ['count', 'host', 'percent'],
    rows: [
      ['5', 'web-01', '50'],
      ['6', 'web-02', '60'],
    ],
    preview: false,
    messages: [],
  });
  const model = chartModel(table);
  expect(clickedCell(model, table, 1, 1)).toEqual({ row: table.rows[1], column: 2 });
  expect(clickedCell(model, table, 2, 0)).toBeNull();
  expect(clickedCell(model, table, 0, 2)).toBeNull();
});

import { expect, it } from 'vitest';
import { type Row, visibleTable } from '../statistics/table';
import { chartModel } from './chartModel';
import { chartOptions, type Look } from './chartOptions';

/** As it comes from the server. */
const modelOf = ({ columns: fields, rows }: { columns: string[]; rows: Row[] }) =>
  chartModel(visibleTable({ fields, rows, preview: false, messages: [] }));

const LOOK: Look = { text: '', muted: '', line: '', surface: '', font: '', palette: [] };

const labels = (times: string[]) => {
  const model = modelOf({ columns: ['_time', 'count'], rows: times.map((time) => [time, '1']) });
  const options = chartOptions(model, 'line', false, 'UTC', LOOK);
  return (options.xAxis as { data: string[] }).data;
};

it('times within a day need no date', () =>
  expect(labels(['2026-11-20T21:00:00.000+00:00', '2026-11-20T21:05:00.000+00:00'])).toEqual([
    '21:00',
    '21:05',
  ]));

it('times across days have their date', () =>
  expect(labels(['2026-11-20T00:00:00.000+00:00', '2026-11-21T00:00:00.000+00:00'])).toEqual([
    '11-20 00:00',
    '11-21 00:00',
  ]));

it('seconds show where they matter', () =>
  expect(labels(['2026-11-20T21:00:00.000+00:00', '2026-11-20T21:00:10.000+00:00'])).toEqual([
    '21:00:00',
    '21:00:10',
  ]));

it('bars lie down in the order of the rows', () => {
  const model = modelOf({
    columns: ['host', 'count'],
    rows: [
      ['a', '2'],
      ['b', '1'],
    ],
  });
  const options = chartOptions(model, 'bar', false, 'UTC', LOOK);
  expect(options.yAxis).toMatchObject({ type: 'category', data: ['a', 'b'], inverse: true });
});

import { expect, it } from 'vitest';
import table from '../../../../../schemas/dashboards/simple-xml.json';
import type { FieldValue } from '../../api/types';
import type { Look } from '../chartOptions';
import { customKind } from './kinds';
import { type CustomModel, customModel } from './model';
import { customOptions } from './options';

const results = (fields: string[], rows: (FieldValue | null)[][]) => ({
  fields,
  rows,
  preview: false,
  messages: [],
});
const LOOK: Look = { text: 't', muted: 'm', line: 'l', surface: 's', font: '', palette: ['a'] };
const context = (options: [string, string][] = []) => ({
  look: LOOK,
  zone: 'UTC',
  width: 400,
  height: 200,
  options: new Map(options),
});
/** The model, of the kind that it must be. */
function made<K extends CustomModel['kind']>(model: CustomModel | null, kind: K) {
  if (model?.kind !== kind) throw new Error(`expected ${kind}, not ${model?.kind}`);
  return model as Extract<CustomModel, { kind: K }>;
}

it('what the table of supported parts counts as drawn is drawn', () => {
  const types = Object.entries(table.values['viz@type'] as Record<string, string>);
  expect(types.length).toBeGreaterThan(10);
  for (const [type, level] of types.filter(([name]) => name !== '*')) {
    expect([type, level, customKind(type) !== null]).toEqual([type, 'full', true]);
  }
  expect(customKind('other_app.sankey_diagram')).toBe('sankey');
  expect([customKind('x.constructor'), customKind(''), customKind('form_viz.form_viz')]).toEqual([
    null,
    null,
    null,
  ]);
});

it('a sankey sums its links, and leaves out those that lead backwards', () => {
  const rows = [
    ['a', 'b', '5'],
    ['a', 'b', '2'],
    ['b', 'c', '3'],
    ['c', 'a', '1'],
    ['c', 'c', '9'],
    ['', 'c', '9'],
  ];
  const { model, note } = customModel('sankey', results(['source', 'target', 'n'], rows));
  const { links, names } = made(model, 'links');
  expect(links.map(({ source, target, value }) => `${source}${target}${value}`)).toEqual([
    'ab7',
    'bc3',
  ]);
  expect(names).toEqual(['a', 'b', 'c']);
  expect(note).toContain('2 of 4 links omitted');
  const network = customModel('network', results(['source', 'target', 'n'], rows));
  expect(made(network.model, 'links').links).toHaveLength(4);
});

it('a treemap has a level for each column of names, with sums', () => {
  const { model } = customModel(
    'treemap',
    results(
      ['host', 'path', 'count'],
      [
        ['w1', '/a', '2'],
        ['w1', '/b', '3'],
        ['w2', '/a', '1'],
      ],
    ),
  );
  const { branches } = made(model, 'tree');
  expect(branches.map(({ name, value }) => [name, value])).toEqual([
    ['w1', 5],
    ['w2', 1],
  ]);
  expect(branches[0]?.children.map(({ name, row }) => [name, row])).toEqual([
    ['/a', 0],
    ['/b', 1],
  ]);
});

it('a punchcard puts hours and days in their order', () => {
  const { model } = customModel(
    'punchcard',
    results(
      ['date_hour', 'date_wday', 'count'],
      [
        ['10', 'sunday', '4'],
        ['9', 'monday', '1'],
      ],
    ),
  );
  const { xs, ys, cells } = made(model, 'grid');
  expect([xs, ys]).toEqual([
    ['9', '10'],
    ['monday', 'sunday'],
  ]);
  expect(cells[0]).toEqual({ x: 1, y: 1, value: 4, row: 0 });
});

it('a heat map takes a matrix as chart makes it, too', () => {
  const rows = [
    ['w1', '1', '2'],
    ['w2', '3', null],
  ];
  const { model } = customModel('heatmap', results(['host', '200', '404'], rows));
  const { xs, ys, cells } = made(model, 'grid');
  expect([xs, ys, cells.length]).toEqual([['200', '404'], ['w1', 'w2'], 3]);
});

it('a calendar sums the days of the times as they are written', () => {
  const rows = [
    ['2026-11-01T23:30:00.000+02:00', '1'],
    ['2026-11-01T00:30:00.000+02:00', '2'],
    ['2026-11-02T00:00:00.000+02:00', '4'],
  ];
  const { model } = customModel('calendar', results(['_time', 'count'], rows));
  expect(made(model, 'calendar').days.map(({ day, value }) => [day, value])).toEqual([
    ['2026-11-01', 3],
    ['2026-11-02', 4],
  ]);
});

it('a timeline has lanes, and ends where the duration in milliseconds does', () => {
  const rows = [
    ['2026-11-01T00:00:00Z', 'job', 'ok', '90000'],
    ['2026-11-01T00:05:00Z', 'other', 'bad', null],
  ];
  const { model } = customModel('timeline', results(['_time', 'name', 'state', 'duration'], rows));
  const { lanes, groups, items } = made(model, 'timeline');
  expect([lanes, groups]).toEqual([
    ['job', 'other'],
    ['ok', 'bad'],
  ]);
  expect(items.map(({ start, end }) => end - start)).toEqual([90, 0]);
});

it('a meter is coloured by its range, in percent of its scale', () => {
  const { model } = customModel('meter', results(['n'], [['160']]));
  const options = customOptions(
    'meter',
    made(model, 'value'),
    context([
      ['maxvalue', '200'],
      ['midrangecolor', '#123456'],
    ]),
  );
  expect(options.series).toMatchObject([
    { max: 200, progress: { itemStyle: { color: '#123456' } }, data: [{ value: 160 }] },
  ]);
});

it('every kind has options, and says what it needs of rows that do not fit', () => {
  const fits = results(
    ['_time', 'a', 'b', 'n'],
    [
      ['2026-11-01T00:00:00Z', 'x', 'y', '1'],
      ['2026-11-02T00:00:00Z', 'y', 'z', '2'],
    ],
  );
  const kinds = ['sankey', 'network', 'treemap', 'sunburst', 'calendar', 'timeline'] as const;
  for (const kind of [...kinds, 'meter', 'parallel'] as const) {
    const { model } = customModel(kind, fits);
    if (!model) throw new Error(kind);
    expect(customOptions(kind, model, context()).series, kind).toBeDefined();
  }
  for (const kind of ['sankey', 'punchcard', 'heatmap', 'calendar', 'timeline'] as const) {
    const { model, note } = customModel(kind, results(['only'], [['x']]));
    expect([kind, model, note?.startsWith('It needs ')]).toEqual([kind, null, true]);
  }
});

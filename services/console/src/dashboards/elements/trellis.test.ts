import { describe, expect, it } from 'vitest';
import type { ResultRows } from '../../api/types';
import { PLOT_LOOK } from '../../visualization/plot';
import { singleView } from './singleValue';
import {
  commonSeries,
  MOST_PANELS,
  roundBound,
  sharedLook,
  trellisLook,
  trellisOf,
} from './trellis';

const rows = (fields: string[], ...all: (string | null)[][]): ResultRows => ({
  fields,
  rows: all,
  preview: false,
  messages: [],
});
const brief = (results: ResultRows, splitBy: string) =>
  trellisOf(results, splitBy).panels.map((panel) => [
    panel.value,
    panel.results.fields.join(),
    panel.results.rows.map((row) => row.join()).join(' '),
  ]);

describe('options of a trellis', () => {
  it('are read leniently', () => {
    expect(trellisLook(new Map([['trellis.enabled', '0']]))).toBeNull();
    expect(trellisLook(new Map())).toBeNull();
    expect(trellisLook(new Map([['trellis.enabled', 'true']]))).toEqual({
      size: 'medium',
      splitBy: '',
      isShared: true,
    });
    const all = new Map([
      ['trellis.enabled', '1'],
      ['trellis.size', 'Large'],
      ['trellis.splitby', ' host '],
      ['trellis.scales.shared', '0'],
    ]);
    expect(trellisLook(all)).toEqual({ size: 'large', splitBy: 'host', isShared: false });
  });
});

describe('a trellis', () => {
  const byHost = rows(
    ['host', 'status', 'count'],
    ['a', '200', '5'],
    ['b', '200', '7'],
    ['a', '404', '1'],
  );

  it('has a panel for each value of a column', () => {
    expect(brief(byHost, 'host')).toEqual([
      ['a', 'status,count', '200,5 404,1'],
      ['b', 'status,count', '200,7'],
    ]);
    expect(trellisOf(byHost, 'host').panels[0]?.sources).toEqual([0, 2]);
    expect(trellisOf(byHost, 'host').name).toBe('host');
  });

  it('has a panel for each series of a split field', () => {
    const series = rows(
      ['_time', 'web', 'db', '_span'],
      ['2026-11-01T00:00:00Z', '1', '2', '60'],
      ['2026-11-02T00:00:00Z', '3', null, '60'],
    );
    expect(brief(series, 'host')).toEqual([
      ['web', '_time,_span,web', '2026-11-01T00:00:00Z,60,1 2026-11-02T00:00:00Z,60,3'],
      ['db', '_time,_span,db', '2026-11-01T00:00:00Z,60,2 2026-11-02T00:00:00Z,60,'],
    ]);
    expect(brief(series, '').map(([value]) => value)).toEqual(['web', 'db']);
  });

  it('knows times by their type, not by the name of the column', () => {
    const texts = rows(['_time', 'count'], ['Monday', '1'], ['Tuesday', '2']);
    expect(brief(texts, '').map(([value]) => value)).toEqual(['Monday', 'Tuesday']);
    const weeks = rows(['week', '_time', 'count'], ['1', 'Monday', '5'], ['1', 'Tuesday', '6']);
    expect(trellisOf(weeks, '_time')).toMatchObject({ name: '_time', isTime: false, total: 2 });
    const times = rows(
      ['_time', 'count'],
      ['2026-11-01T00:00:00Z', '1'],
      ['2026-11-02T00:00:00Z', '2'],
    );
    expect(brief(times, '').map(([value]) => value)).toEqual(['count']);
    expect(trellisOf(times, '_time')).toMatchObject({ isTime: true, total: 2 });
  });

  it('takes several aggregations of a split field apart, either way', () => {
    const both = rows(
      ['_time', 'count: a', 'count: b', 'max(x): a', 'max(x): b'],
      ['t', '1', '2', '3', '4'],
    );
    expect(brief(both, 'host')).toEqual([
      ['a', '_time,count,max(x)', 't,1,3'],
      ['b', '_time,count,max(x)', 't,2,4'],
    ]);
    expect(brief(both, '_aggregation')).toEqual([
      ['count', '_time,a,b', 't,1,2'],
      ['max(x)', '_time,a,b', 't,3,4'],
    ]);
  });

  it('of aggregations without a field has a panel for each, with its own value', () => {
    const all = rows(['A', 'B', 'C'], ['1', '2', '3']);
    expect(brief(all, '')).toEqual([
      ['A', 'A', '1'],
      ['B', 'B', '2'],
      ['C', 'C', '3'],
    ]);
    const shown = ({ panels }: ReturnType<typeof trellisOf>) =>
      panels.map(({ results, column }) => singleView(results, new Map(), column)?.text);
    expect(shown(trellisOf(all, '_aggregation'))).toEqual(['1', '2', '3']);
    // The status is what the row is of: its panels show the aggregations.
    const byStatus = rows(['status', 'count', 'ab'], ['200', '5', '70']);
    const grouped = trellisOf(byStatus, '_aggregation', true);
    expect(grouped.panels.map(({ value }) => value)).toEqual(['count', 'ab']);
    expect(shown(grouped)).toEqual(['5', '70']);
  });

  it('guesses the split where none is named', () => {
    expect(
      brief(rows(['host', 'count'], ['a', '1'], ['b', '2']), '').map(([value]) => value),
    ).toEqual(['a', 'b']);
    const two = rows(['host', 'count', 'bytes'], ['a', '1', '9'], ['b', '2', '8']);
    expect(brief(two, '').map(([value]) => value)).toEqual(['count', 'bytes']);
    expect(brief(byHost, '').map(([value]) => value)).toEqual(['status', 'count']);
  });

  it('names values that are empty, and counts what is not shown', () => {
    const many = rows(['host', 'count'], ...Array.from({ length: 70 }, (_, at) => [`h${at}`, '1']));
    const { panels, total } = trellisOf(many, 'host');
    expect([panels.length, total]).toEqual([MOST_PANELS, 70]);
    expect(brief(rows(['host', 'count'], [null, '1']), 'host')[0]?.[0]).toBe('(empty)');
    expect(trellisOf(rows([]), 'host').panels).toEqual([]);
  });
});

describe('a shared scale', () => {
  it('reaches the largest value of all panels, added up where they are stacked', () => {
    const { panels } = trellisOf(
      rows(['host', 'path', 'get', 'post'], ['a', '/', '30', '42'], ['b', '/', '7', '-3']),
      'host',
    );
    expect(sharedLook(PLOT_LOOK, panels).y).toMatchObject({ min: -3, max: 50 });
    expect(sharedLook({ ...PLOT_LOOK, stack: 'stacked' }, panels).y.max).toBe(80);
    const set = { ...PLOT_LOOK, y: { ...PLOT_LOOK.y, max: 1000 } };
    expect(sharedLook(set, panels).y).toMatchObject({ min: -3, max: 1000 });
    const look = { ...PLOT_LOOK, fieldColors: new Map([['post', 'red']]) };
    expect(commonSeries(panels, look, ['blue', 'green'])).toEqual([
      ['get', 'blue'],
      ['post', 'red'],
    ]);
    const ordered = { ...PLOT_LOOK, legendLabels: ['none', 'post'] };
    expect(commonSeries(panels, ordered, ['blue', 'green', 'red'])).toEqual([
      ['post', 'green'],
      ['get', 'red'],
    ]);
    const own = trellisOf(rows(['_time', 'a', 'b'], ['t', '1', '2']), '').panels;
    expect(commonSeries(own, look, ['blue'])).toEqual([]);
  });

  it('of lines begins at the tick below the least value, unless it is to include zero', () => {
    const { panels } = trellisOf(
      rows(['_time', 'a', 'b'], ['t', '503', '512'], ['u', '520', '501']),
      '',
    );
    const lines = { ...PLOT_LOOK, kind: 'line' as const };
    expect(sharedLook(lines, panels).y).toMatchObject({ min: 500, max: 520 });
    const withZero = { ...lines, y: { ...lines.y, includesZero: true } };
    expect(sharedLook(withZero, panels).y).toMatchObject({ min: 0, max: 600 });
    expect(sharedLook(PLOT_LOOK, panels).y).toMatchObject({ min: 0, max: 600 });
    const low = { ...lines, y: { ...lines.y, max: 100 } };
    expect(sharedLook(low, panels).y).toMatchObject({ min: 0, max: 100 });
  });

  it('is rounded away from zero', () => {
    expect([0, 1, 42, 101, 0.07, -12, 9.5, 1e6].map(roundBound)).toEqual([
      0, 1, 50, 150, 0.08, -15, 10, 1e6,
    ]);
  });
});

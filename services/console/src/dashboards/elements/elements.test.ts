import { BarChart, LineChart, PieChart } from 'echarts/charts';
import { GridComponent, LegendComponent, TooltipComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { expect, it } from 'vitest';
import type { JobStatus, ResultRows } from '../../api/types';
import { hasNoValues, plotData } from '../../visualization/plot';
import {
  column,
  gaugeRanges,
  gaugeValue,
  plotOptions,
  sliceLabel,
  slices,
} from '../../visualization/plotOptions';
import { readDashboard } from '../model/reader';
import { commandsOf, eventsBehind } from '../runtime/links';
import type { SearchState } from '../runtime/manager';
import {
  colorer,
  contrast,
  formattedNumber,
  legible,
  mixed,
  overlay,
  readableOn,
} from './cellFormat';
import { choroplethColors, mapLook } from './mapLook';
import { plotLook } from './plotLook';
import { excerptLines, excerptParts, progressText, waitsForSubmit } from './SearchStates';
import { singleView } from './singleValue';

use([BarChart, LineChart, PieChart, GridComponent, LegendComponent, TooltipComponent, SVGRenderer]);

const rows = (fields: string[], ...all: string[][]): ResultRows => ({
  fields,
  rows: all,
  preview: false,
  messages: [],
});
const options = (pairs: Record<string, string>) =>
  new Map(Object.entries(pairs).map(([name, value]) => [name.toLowerCase(), value]));
const formats = (xml: string) => {
  const found = readDashboard(`<dashboard><row><table>${xml}</table></row></dashboard>`);
  return found.rows[0]?.panels[0]?.elements[0]?.formats ?? [];
};
const colors = (xml: string, values: string[]) => {
  const [format] = formats(xml);
  const paint =
    format &&
    colorer(
      format,
      values.map((value) => [value]),
      0,
    );
  return values.map((value) => paint?.(value) ?? null);
};

it('cells are coloured by each kind of palette', () => {
  const map =
    '<format type="color" field="a"><colorPalette type="map">{"x":#111111,"y":#222222}</colorPalette></format>';
  expect(colors(map, ['x', 'z'])).toEqual(['#111111', null]);
  const list =
    '<format type="color"><colorPalette type="list">[#111111,#222222,#333333]</colorPalette><scale type="threshold">5,9</scale></format>';
  expect(colors(list, ['4', '5', '9', 'x'])).toEqual(['#111111', '#222222', '#333333', null]);
  const gradient =
    '<format type="color"><colorPalette type="minMidMax" minColor="#000000" maxColor="#ffffff"/><scale type="minMidMax"/></format>';
  expect(colors(gradient, ['0', '5', '10'])).toEqual(['#000000', '#808080', '#ffffff']);
  const named = gradient.replace('#000000', 'black').replace('#ffffff', 'White');
  expect(colors(named, ['0', '5', '10'])).toEqual(['#000000', '#808080', '#ffffff']);
  const expression =
    '<format type="color"><colorPalette type="expression">if(value &gt; 3, "#ff0000", "#00ff00")</colorPalette></format>';
  expect(colors(expression, ['5', '1'])).toEqual(['#ff0000', '#00ff00']);
  const shared = colors(
    '<format type="color"><colorPalette type="sharedList"/><scale type="sharedCategory"/></format>',
    ['a', 'b', 'a'],
  );
  expect(shared[0]).toBe(shared[2]);
  expect(shared[0]).not.toBe(shared[1]);
});

it('texts on colours are read well', () => {
  expect([readableOn('#ffffff'), readableOn('#000000'), readableOn('#f8be34')]).toEqual([
    '#000000',
    '#ffffff',
    '#000000',
  ]);
  expect(mixed('#000000', '#0000ff', 0.5)).toBe('#000080');
  expect(contrast(legible('#f8be34', '#ffffff', 3), '#ffffff')).toBeGreaterThanOrEqual(3);
  expect(legible('#c4453a', '#ffffff', 3)).toBe('#c4453a');
});

it('heat and extremes are of all numbers of a table', () => {
  const table = [['a', '1', '9']];
  expect(overlay('highlow', table, [1, 2])?.('9')).toBe('#e2725b');
  expect(overlay('heatmap', table, [1, 2])?.('1')).toBe('#ffffff');
  expect(overlay('none', table, [1, 2])).toBeNull();
});

it('numbers have their precision and unit', () => {
  const [format] = formats(
    '<format type="number"><option name="precision">1</option><option name="unit">%</option></format>',
  );
  expect(format && formattedNumber('1234.56', format)).toBe('1,234.6 %');
  expect(format && formattedNumber('text', format)).toBe('text');
});

it('a single value is the first row, or the last of a series with its trend', () => {
  const two = rows(['a', 'n'], ['x', '5'], ['y', '6']);
  expect(singleView(two, options({ field: 'n' }))).toMatchObject({ text: '5', trend: null });
  // As the name of the one at the top.
  expect(singleView(two, options({}))).toMatchObject({ text: 'x', value: null, trend: null });
  const series = rows(['_time', 'n'], ['2026-01-01T00:00:00Z', '4'], ['2026-01-01T01:00:00Z', '6']);
  expect(singleView(series, options({ trendDisplayMode: 'percent' }))).toMatchObject({
    text: '6',
    trend: { text: '50.0 %', direction: 1 },
    sparkline: [4, 6],
  });
  // The line ends with the value that is shown.
  series.rows.push(['2026-01-01T02:00:00Z', '']);
  expect(singleView(series, options({}))).toMatchObject({ text: '6', sparkline: [4, 6] });
  expect(singleView(rows(['state'], ['ok']), options({}))?.text).toBe('ok');
  expect(singleView(rows(['a']), options({}))).toBeNull();
});

it('a single value without a value has no text, whatever its unit is', () => {
  expect(singleView(rows(['n'], ['']), options({ unit: '%' }))?.text).toBe('');
  const series = rows(['_time', 'n'], ['2026-01-01T00:00:00Z', ''], ['2026-01-01T01:00:00Z', '']);
  expect(singleView(series, options({ unit: '%' }))?.text).toBe('');
  expect(singleView(rows(['_time'], ['2026-01-01T00:00:00Z']), options({}))).toBeNull();
});

it('n bounds of a single value make n+1 colours', () => {
  const view = (value: string) =>
    singleView(
      rows(['n'], [value]),
      options({
        useColors: '1',
        rangeValues: '[0,10]',
        rangeColors: '["0x000001","0x000002","0x000003"]',
      }),
    )?.color;
  expect([view('-1'), view('5'), view('11')]).toEqual(['#000001', '#000002', '#000003']);
});

it('the first column of a chart is its category, hidden columns are left out', () => {
  const data = plotData(
    rows(
      ['_time', 'a', '_span', 'b'],
      ['2026-01-01T00:00:00Z', '1', '3600', ''],
      ['2026-01-01T01:00:00Z', '2', '3600', '5'],
    ),
  );
  expect(data).toMatchObject({ isTime: true, span: 3600 });
  expect(data.series).toEqual([
    { name: 'a', values: [1, 2] },
    { name: 'b', values: [null, 5] },
  ]);
});

it.each([
  ['times alone', rows(['_time', '_span'], ['2026-01-01T00:00:00Z', '3600']), true],
  ['an empty column', rows(['host', 'n'], ['a', ''], ['b', '']), true],
  ['an empty column alone', rows(['n'], ['']), true],
  ['no columns', rows([]), true],
  ['a number', rows(['host', 'n'], ['a', ''], ['b', '0']), false],
  ['a text, which a chart cannot draw', rows(['host', 'state'], ['a', 'up']), false],
  ['one column of texts', rows(['host'], ['a']), false],
])('rows of %s have no values: %j', (_, results, isEmpty) => {
  expect(hasNoValues(results)).toBe(isEmpty);
  if (isEmpty) expect(plotData(results).series).toEqual([]);
});

const LOOK = {
  text: '',
  muted: '',
  line: '',
  surface: '',
  font: '',
  palette: ['#111111', '#222222'],
};
const drawn = (pairs: Record<string, string>) => {
  const data = plotData(rows(['host', 'a', 'b'], ['x', '1', '3'], ['y', '', '5']));
  const context = { look: LOOK, zone: 'UTC', width: 800, height: 250 };
  return plotOptions(data, plotLook(options(pairs)), context) as {
    series: Record<string, unknown>[];
    xAxis: Record<string, unknown>;
    yAxis: Record<string, unknown> | Record<string, unknown>[];
    legend: Record<string, unknown>;
  };
};

it('a value between two gaps of a line is a point, as it would not be seen', () => {
  const values = Array.from({ length: 60 }, (_, at) => [`${at}`, at === 30 || at < 3 ? '1' : '']);
  const look = plotLook(options({ 'charting.chart': 'line' }));
  const context = { look: LOOK, zone: 'UTC', width: 800, height: 250 };
  const { series } = plotOptions(plotData(rows(['x', 'n'], ...values)), look, context) as {
    series: {
      showSymbol: boolean;
      symbolSize: (value: null, at: { dataIndex: number }) => number;
    }[];
  };
  const sizeAt = (dataIndex: number) => series[0]?.symbolSize(null, { dataIndex });
  expect([series[0]?.showSymbol, sizeAt(30), sizeAt(1)]).toEqual([true, 5, 0]);
});

it('a narrow time axis over two days has the dates, in even steps', () => {
  const hours = Array.from({ length: 48 }, (_, at) => {
    const time = new Date(Date.UTC(2026, 10, 26, 6) + at * 3_600_000).toISOString();
    return [time, '1'];
  });
  const look = plotLook(
    options({ 'charting.chart': 'column', 'charting.legend.placement': 'none' }),
  );
  const context = { look: LOOK, zone: 'UTC', width: 420, height: 250 };
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: 420, height: 250 });
  chart.setOption(plotOptions(plotData(rows(['_time', 'n'], ...hours)), look, context));
  const svg = chart.renderToSVGString();
  chart.dispose();
  expect(svg.match(/11-\d\d|\d\d:\d\d/g)).toEqual(['12:00', '11-27', '12:00', '11-28']);
});

it('options of charts are read in old and new spellings', () => {
  const chart = drawn({
    'charting.chart': 'column',
    'charting.chart.stackMode': 'stacked100',
    'charting.chart.nullValueMode': 'zero',
    'charting.primaryAxisTitle.text': 'Old',
    'charting.legend.placement': 'bottom',
    'charting.fieldColors': '{a: 0x00ff00}',
  });
  expect(chart.series.map((series) => series.data)).toEqual([
    [25, 0],
    [75, 100],
  ]);
  expect(chart.series[0]).toMatchObject({ color: '#00ff00', stack: 'all' });
  expect(chart.xAxis.name).toBe('Old');
  expect(chart.legend).toMatchObject({ orient: 'horizontal', bottom: 2 });
});

it('a gauge over the command gauge has its value and its ranges', () => {
  const data = plotData(rows(['x', 'y1', 'y2', 'y3'], ['70', '0', '50', '80']));
  const ranges = (pairs: Record<string, string>) => gaugeRanges(data, plotLook(options(pairs)));
  expect([gaugeValue(data), ranges({}).bounds]).toEqual([70, [0, 50, 80]]);
  expect(ranges({ 'charting.chart.rangeValues': '[0,10,90]' }).bounds).toEqual([0, 10, 90]);
  const plain = plotData(rows(['count'], ['7']));
  expect(gaugeValue(plain)).toBe(7);
  expect(gaugeRanges(plain, plotLook(options({}))).bounds).toEqual([0, 30, 70, 100]);
});

/** A chart of three series with gaps, drawn by the library as SVG. */
const picture = (pairs: Record<string, string>) => {
  const table = [
    ['A', '1', '2', '3'],
    ['B', '', '5', ''],
    ['C', '4', '', ''],
    ['D', '', '5', '6'],
  ];
  const look = { ...LOOK, palette: ['#110000', '#220000', '#330000'] };
  const context = { look, zone: 'UTC', width: 800, height: 250 };
  const data = plotData(rows(['t', 'x', 'y', 'z'], ...table));
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: 800, height: 250 });
  chart.setOption(plotOptions(data, plotLook(options(pairs)), context));
  const svg = chart.renderToSVGString();
  chart.dispose();
  return svg;
};

it.each([
  ['column', 'stacked'],
  ['column', 'stacked100'],
  ['bar', 'stacked'],
  ['bar', 'stacked100'],
])('a %s with %s draws all values above an empty one', (kind, stack) => {
  const svg = picture({
    'charting.chart': kind,
    'charting.chart.stackMode': stack,
    'charting.legend.placement': 'none',
  });
  const bars = (color: string) => svg.split(`fill="${color}"`).length - 1;
  expect([bars('#110000'), bars('#220000'), bars('#330000')]).toEqual([2, 3, 2]);
});

it('in a stack of areas an empty value is zero, and elsewhere a gap', () => {
  const area = { 'charting.chart': 'area', 'charting.chart.stackMode': 'stacked' };
  expect(drawn(area).series.map((series) => series.data)).toEqual([
    [1, 0],
    [3, 5],
  ]);
  expect(drawn({ 'charting.chart': 'area' }).series[0]?.data).toEqual([1, null]);
  expect(picture(area)).not.toContain('NaN');
});

it('a search starts until the server has its job, and is in a queue only if the server says so', () => {
  const job = (dispatchState: string, doneProgress = 0) =>
    ({ dispatchState, doneProgress }) as JobStatus;
  const text = (phase: SearchState['phase'], isHeld: boolean, status: JobStatus | null) =>
    progressText({ phase, isHeld, job: status });
  expect(text('queued', false, null)).toBe('Starting');
  expect(text('queued', true, null)).toBe('Waiting for other searches');
  expect(text('running', false, job('QUEUED'))).toBe('Waiting in the queue');
  expect(text('running', false, null)).toBe('Running');
  expect(text('running', false, job('RUNNING', 0.5))).toBe('Running, 50 %');
});

it('the lines of a message that point into the search are apart from its text', () => {
  const text =
    "Unknown search command 'stast'.\n1 | index=main | stast\n                 ^^^^^\nhint: `stats`?";
  expect(excerptParts(text)).toEqual([
    "Unknown search command 'stast'.\n",
    '1 | index=main | stast\n                 ^^^^^\n',
    'hint: `stats`?',
  ]);
  expect(excerptParts('The search failed.')).toEqual(['The search failed.']);
});

it('the place of a mistake is marked in its line, which may wrap', () => {
  const [, part = ''] = excerptParts(
    "Unknown 'foo'.\n1 | index=main\n2 | | foo x\n      ^^^\nhint: a",
  );
  expect(excerptLines(part)).toEqual([
    { before: '1 | index=main', mistake: '', after: '' },
    { before: '2 | | ', mistake: 'foo', after: ' x' },
  ]);
  expect(excerptLines('1 | a |\n        ^')).toEqual([
    { before: '1 | a |', mistake: '^', after: '' },
  ]);
});

it('the place of a mistake is counted in characters, as the server counts it', () => {
  expect(excerptLines('1 | "🔥🔥" | foo x\n           ^^^')).toEqual([
    { before: '1 | "🔥🔥" | ', mistake: 'foo', after: ' x' },
  ]);
});

it('a search waits for the button where inputs show all that it needs', () => {
  const shown = (name: string) => (name === 'a' ? '*' : undefined);
  const waits = [['a'], ['a', 'b'], []].map((missing) => waitsForSubmit(missing, shown));
  expect(waits).toEqual([true, false, false]);
});

it('a distance of labels that would give too many of them is left out', () => {
  const unit = (pairs: Record<string, string>, ...values: string[]) => {
    const data = plotData(rows(['x', 'a', 'b'], values));
    const context = { look: LOOK, zone: 'UTC', width: 800, height: 250 };
    const chart = plotOptions(data, plotLook(options(pairs)), context);
    return (chart.yAxis as { interval?: number }).interval;
  };
  const one = { 'charting.axisLabelsY.majorUnit': '1' };
  expect(unit(one, 'x', '8', '7')).toBe(1);
  expect(unit(one, 'x', '8000', '7')).toBeUndefined();
  expect(unit({ ...one, 'charting.axisY.maximumNumber': '10' }, 'x', '8000', '7')).toBe(1);
  const stacked = { ...one, 'charting.chart.stackMode': 'stacked' };
  expect(unit(stacked, 'x', '15', '7')).toBeUndefined();
});

it('lines have a dash style for all, and one by field; areas have an opacity', () => {
  const lines = drawn({
    'charting.chart': 'line',
    'charting.lineDashStyle': 'shortDash',
    'charting.fieldDashStyles': '{"b": "solid"}',
  });
  expect(lines.series.map(({ lineStyle }) => (lineStyle as { type: string }).type)).toEqual([
    'dashed',
    'solid',
  ]);
  const areas = drawn({ 'charting.chart': 'area', 'charting.areaFillOpacity': '0.75' });
  expect(areas.series[0]?.areaStyle).toEqual({ opacity: 0.75 });
  expect(plotLook(options({ 'charting.axisY.majorUnit': '25' })).y.majorUnit).toBe(25);
});

it('an overlay is a line, on a second axis if there is one', () => {
  const chart = drawn({
    'charting.chart.overlayFields': 'b',
    'charting.axisY2.enabled': '1',
    'charting.axisY2.scale': 'log',
  });
  expect(chart.series.map((series) => [series.type, series.yAxisIndex])).toEqual([
    ['bar', 0],
    ['line', 1],
  ]);
  expect((chart.yAxis as Record<string, unknown>[])[1]?.type).toBe('log');
});

it('labels of small slices do not stand on each other', () => {
  const all = [
    ['200', '880'],
    ['201', '18'],
    ['401', '11'],
    ['404', '17'],
    ['500', '70'],
  ];
  const chart = init(null, null, { renderer: 'svg', ssr: true, width: 420, height: 250 });
  const look = plotLook(options({ 'charting.chart': 'pie' }));
  const context = { look: { ...LOOK, text: '#000000' }, zone: 'UTC', width: 420, height: 250 };
  chart.setOption(plotOptions(plotData(rows(['status', 'n'], ...all)), look, context));
  const svg = chart.renderToSVGString();
  chart.dispose();
  const places = [...svg.matchAll(/<text[^>]*translate\(\S+ ([\d.]+)\)/g)].map(([, y]) =>
    Number(y),
  );
  places.sort((a, b) => a - b);
  expect(places).toHaveLength(5);
  const gaps = places.slice(1).map((y, at) => y - (places[at] ?? 0));
  expect(Math.min(...gaps)).toBeGreaterThan(15);
});

it('small slices of a pie are one', () => {
  const data = plotData(rows(['a', 'n'], ['x', '1000'], ['y', '1'], ['z', '2']));
  expect(slices(data, plotLook(options({ 'charting.chart': 'pie' })), 'UTC')).toEqual([
    { name: 'x', row: 0, value: 1000 },
    { name: 'other (2)', row: -1, value: 3 },
  ]);
});

it('a search is split at its pipes, not at those in quotes and subsearches', () =>
  expect(commandsOf('a "x|y" [search b | head 1] | stats count | sort x')).toEqual([
    'a "x|y" [search b | head 1]',
    'stats count',
    'sort x',
  ]));

it.each([
  ['index=a | stats count by host', 'index=a host="w"'],
  ['index=a | eval x=1 | timechart count', 'index=a | eval x=1 | search host="w"'],
  ['| inputlookup l', '| inputlookup l | search host="w"'],
])('the events behind a value of %s', (search, events) =>
  expect(eventsBehind(search, [['host', 'w']])).toBe(events),
);

it('options of maps are read within limits, and shapes of the console are taken out of searches', () => {
  const look = mapLook(
    options({
      'mapping.type': 'Choropleth',
      'mapping.map.center': '(48.1,11.6)',
      'mapping.map.zoom': '5',
      'mapping.markerLayer.markerMaxSize': '9999',
      'mapping.fieldColors': '{"bad": 0xdc4e41}',
      'mapping.legend.placement': 'none',
    }),
  );
  expect(look).toMatchObject({ kind: 'choropleth', center: [48.1, 11.6], zoom: 5, markerMax: 200 });
  expect([look.fieldColors.get('bad'), look.hasLegend]).toEqual(['#dc4e41', false]);
  const plain = mapLook(options({ 'mapping.map.center': '(0,0)', 'mapping.map.zoom': '2' }));
  expect(plain).toMatchObject({ kind: 'marker', center: null, zoom: null, mostMarkers: 100 });
  expect(
    choroplethColors(options({ 'mapping.choroplethLayer.colorBins': '99' }), new Map()),
  ).toEqual({
    mode: 'auto',
    bins: 12,
    minimumColor: '#2f25ba',
    maximumColor: '#db5800',
    neutralPoint: 0,
    fieldColors: new Map(),
  });
  const map = (query: string) => {
    const xml = `<dashboard><row><map><search><query>${query}</query></search></map></row></dashboard>`;
    return readDashboard(xml).rows[0]?.panels[0]?.elements[0];
  };
  const countries = map(
    'index=a | stats count by Country | geom geo_countries featureIdField="Country"',
  );
  expect(countries?.search?.source).toEqual({
    kind: 'query',
    query: 'index=a | stats count by Country',
  });
  expect(countries?.shapes).toEqual({ outline: 'world', field: 'Country' });
  const states = map('stats count by featureId | geom geo_us_states allFeatures=1 | sort count');
  expect(states?.search?.source).toMatchObject({ query: 'stats count by featureId | sort count' });
  expect(states?.shapes).toEqual({ outline: 'us', field: null });
  expect(map('index=a | geom own featureIdField=x')?.shapes).toBeNull();
});

it('a page of a legend has whole names', () => {
  expect(column(5, 250)).toEqual({ top: 8, height: 224 });
  const { height = 0 } = column(60, 250);
  // Names of 20 px with 2 between them, and the buttons.
  expect((height - 21 + 2) % 22).toBe(0);
  expect(height).toBeLessThanOrEqual(224);
  expect(column(60, 30).height).toBe(41);
});

it('the label of a slice keeps its share', () => {
  expect(sliceLabel('web', 12.5, 200)).toBe('web: 12.5 %');
  expect(sliceLabel('a-very-long-name-of-a-host.example.com', 12.5, 150)).toMatch(
    /^a-very.*…: 12\.5 %$/,
  );
  expect(sliceLabel('a-very-long-name', null, 60)).toBe('a-very-l…');
});

it('the label of a slice has the room up to the edge, and no share rather than no name', () => {
  expect(sliceLabel('66.249.64.1', 17.984, 200)).toBe('66.249.64.1: 18 %');
  expect(sliceLabel('66.249.64.1', 17.984, 90)).toBe('66.249.64.1');
  const data = plotData(rows(['name', 'n'], ['alpha', '5'], ['delta', '4'], ['gamma', '4']));
  const look = plotLook(options({ 'charting.chart': 'pie', 'charting.chart.showPercent': '1' }));
  const context = { look: LOOK, zone: 'UTC', width: 330, height: 250 };
  const { series } = plotOptions(data, look, context) as {
    series: { label: { formatter: (slice: unknown) => string } }[];
  };
  const label = (name: string, dataIndex: number) =>
    series[0]?.label.formatter({ name, percent: 33.33, dataIndex });
  expect([label('alpha', 0), label('delta', 1)]).toEqual(['alpha: 33.3 %', 'delta: 33.3 %']);
});

it('labels of bars that have no room are left out', () => {
  const look = plotLook(options({ 'charting.chart': 'bar' }));
  const intervalOf = (count: number) => {
    const all = Array.from({ length: count }, (_, at) => [`type ${at}`, '1']);
    const context = { look: LOOK, zone: 'UTC', width: 600, height: 250 };
    const { yAxis } = plotOptions(plotData(rows(['type', 'n'], ...all)), look, context) as {
      yAxis: { axisLabel: { interval: number } };
    };
    return yAxis.axisLabel.interval;
  };
  expect([6, 20, 72].map(intervalOf)).toEqual([0, 1, 5]);
});

it('rows whose x is not a number are no points', () => {
  const look = plotLook(options({ 'charting.chart': 'scatter' }));
  const context = { look: LOOK, zone: 'UTC', width: 800, height: 250 };
  const drawnOf = (...all: string[][]) =>
    plotOptions(plotData(rows(['x', 'y'], ...all)), look, context) as {
      series: { name: string; data: { value: unknown[] }[] }[];
    };
  const { series } = drawnOf(['1', '5'], ['unknown', '6'], ['3', '7']);
  expect(series.map(({ name }) => name)).toEqual(['y']);
  expect(series[0]?.data.map(({ value }) => value[0])).toEqual([1, 3]);
});

it('dollars of tables and of single values are written by one rule', () => {
  const [format] = formats('<format type="number"><option name="karst.money">1</option></format>');
  const results = rows(['usd'], ['0.00081234']);
  expect(format && formattedNumber('0.00081234', format)).toBe('$0.00081');
  expect(singleView(results, options({ 'karst.money': '1' }))?.text).toBe('$0.00081');
});

it('texts under _time are no times', () => {
  const hours = rows(['_time', 'n'], ['01', '4'], ['02', '6']);
  expect(plotData(hours)).toMatchObject({ isTime: false, categories: ['01', '02'] });
  expect(singleView(hours, options({}))).toMatchObject({ text: '4', sparkline: [] });
});

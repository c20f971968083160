import { BarChart, LineChart, ScatterChart } from 'echarts/charts';
import { GridComponent, LegendComponent, TooltipComponent } from 'echarts/components';
import { init, use } from 'echarts/core';
import { SVGRenderer } from 'echarts/renderers';
import { expect, it, vi } from 'vitest';
import { PLOT_LOOK, type PlotData, type PlotLook, plotData } from './plot';
import { plotOptions } from './plotOptions';

// On a busy machine, the first drawing takes long.
vi.setConfig({ testTimeout: 60_000 });

use([BarChart, LineChart, ScatterChart, GridComponent, LegendComponent, TooltipComponent]);
use([SVGRenderer]);

const LOOK = { text: '', muted: '', line: '', surface: '', font: '', palette: ['#111111'] };
const CONTEXT = { look: LOOK, zone: 'UTC', width: 420, height: 250 };

interface Axis {
  scale: boolean;
}

const rowsOf = (fields: string[], ...rows: string[][]) =>
  plotData({ fields, rows, preview: false, messages: [] });
const data = rowsOf(['host', 'a', 'b'], ['x', '500', '3'], ['y', '520', '4']);
const axesOf = (look: Partial<PlotLook>, of = data) =>
  plotOptions(of, { ...PLOT_LOOK, ...look }, CONTEXT) as { xAxis: Axis; yAxis: Axis | Axis[] };
const scales = (look: Partial<PlotLook>) => [axesOf(look).yAxis].flat().map(({ scale }) => scale);

it('lines and points need not begin at zero; bars and areas do', () => {
  expect(scales({ kind: 'line' })).toEqual([true]);
  expect(scales({ kind: 'scatter' })).toEqual([true]);
  expect(scales({ kind: 'column' })).toEqual([false]);
  expect(scales({ kind: 'area' })).toEqual([false]);
  const y2 = { ...PLOT_LOOK.y2, isEnabled: true };
  expect(scales({ kind: 'column', overlay: ['b'], y2 })).toEqual([false, true]);
  expect(scales({ kind: 'column', y2: { ...y2, fields: ['b'] } })).toEqual([false, false]);
});

it('an axis begins at zero or elsewhere where its author says so', () => {
  expect(scales({ kind: 'line', y: { ...PLOT_LOOK.y, includesZero: true } })).toEqual([false]);
  expect(scales({ kind: 'line', y: { ...PLOT_LOOK.y, min: 0 } })).toEqual([false]);
});

interface Text {
  text: string;
  x: number;
  y: number;
}

/** The texts of a chart, with their places. */
function textsOf(of: PlotData, look: Partial<PlotLook>, width: number, height = 250): Text[] {
  const chart = init(null, null, { renderer: 'svg', ssr: true, width, height });
  const colors = { ...LOOK, text: '#000000', muted: '#333333', line: '#cccccc' };
  const context = { look: colors, zone: 'UTC', width, height };
  chart.setOption(plotOptions(of, { ...PLOT_LOOK, ...look }, context));
  const svg = chart.renderToSVGString();
  chart.dispose();
  const found = svg.matchAll(
    /<text[^>]*transform="(?:translate\(|matrix\((?:[-\d.]+,){4})([-\d.]+)[ ,]([-\d.]+)\)"[^>]*>([^<]*)/g,
  );
  return [...found].map(([, x, y, text = '']) => ({ text, x: Number(x), y: Number(y) }));
}

const PATHS = ['/images/web/a.png', '/images/web/b.png', '/product.screen?id=1'];
const BARS = rowsOf(['uri_path', 'count'], ...PATHS.map((path, at) => [path, `${600 * (at + 1)}`]));
const POINTS = rowsOf(['x', 'y'], ['10', '3000'], ['3000', '4000'], ['1500', '5']);

it.each([
  ['bar', BARS, 330],
  ['bar', BARS, 420],
  ['bar', BARS, 800],
  ['scatter', POINTS, 220],
  ['scatter', POINTS, 420],
] as const)('labels of a horizontal axis of values have even steps: %s', (kind, of, width) => {
  const texts = textsOf(of, { kind }, width);
  const bottom = Math.max(...texts.filter(({ text }) => text === '0').map(({ y }) => y));
  const values = texts
    .filter(({ text, y }) => y === bottom && /^[\d,]+$/.test(text))
    .map(({ text }) => Number(text.replace(',', '')));
  const steps = values.slice(1).map((value, at) => value - (values[at] ?? 0));
  expect(values.length).toBeGreaterThan(1);
  expect(new Set(steps).size, values.join()).toBe(1);
});

it('the name of the axis of bars is beside their labels', () => {
  for (const width of [330, 420]) {
    const texts = textsOf(BARS, { kind: 'bar' }, width);
    const name = texts.find(({ text }) => text === 'uri_path');
    const label = texts.find(({ text }) => text.startsWith('/images'));
    // Labels end at their place, and are as wide as they may be at most.
    const begin = (label?.x ?? 0) - Math.min(width * 0.3, 6.6 * (PATHS[0]?.length ?? 0));
    expect(name?.x).toBeLessThan(begin);
    expect(begin).toBeLessThan(60);
  }
});

const HOURS = rowsOf(
  ['_time', 'Hosts Seen', 'Sourcetypes Seen', 'Indexes', 'More'],
  ...Array.from({ length: 24 }, (_, at) => [
    new Date(Date.UTC(2026, 0, 1, at)).toISOString(),
    ...['1', '2', '3', '4'].map((value) => `${Number(value) * at}`),
  ]),
);

it('axes of a chart for each series have titles where they have room, and their author wants them', () => {
  const titles = (look: Partial<PlotLook>, height: number) => {
    const names = HOURS.series.map(({ name }) => name);
    const all = textsOf(
      HOURS,
      { kind: 'line', splitsSeries: true, legend: 'none', ...look },
      420,
      height,
    );
    return all.filter(({ text }) => names.includes(text)).length;
  };
  expect(titles({}, 500)).toBe(4);
  expect(titles({}, 250)).toBe(0);
  expect(titles({ y: { ...PLOT_LOOK.y, title: '' } }, 500)).toBe(0);
});

it('an end that is set below all values leaves the axis upright', () => {
  const marks = (max: number) =>
    textsOf(
      rowsOf(['host', 'a'], ['x', '500'], ['y', '520']),
      { y: { ...PLOT_LOOK.y, max }, kind: 'line' },
      420,
    )
      .filter(({ text }) => /^\d+$/.test(text))
      .sort((a, b) => b.y - a.y)
      .map(({ text }) => Number(text));
  expect(marks(100).at(0)).toBe(0);
  expect(marks(100).at(-1)).toBe(100);
  expect(marks(530).at(0)).toBe(500);
});

it('each series has a grid, also in a low chart with upright labels', () => {
  const look = { ...PLOT_LOOK, kind: 'line' as const, splitsSeries: true, labelRotation: -90 };
  for (const height of [60, 150]) {
    const { grid } = plotOptions(HOURS, look, { ...CONTEXT, height }) as {
      grid: { top: number; height: number }[];
    };
    expect(Math.min(...grid.map((one) => one.height))).toBeGreaterThan(0);
    expect(Math.max(...grid.map((one) => one.top + one.height))).toBeLessThan(height);
  }
});

it('turned labels of a chart for each series are whole', () => {
  const look: Partial<PlotLook> = { kind: 'line', splitsSeries: true, labelRotation: -45 };
  const times = textsOf(HOURS, look, 420).filter(({ text }) => /^\d\d[:-]\d\d$/.test(text));
  expect(times.length).toBeGreaterThan(2);
  for (const { text, y } of times)
    expect(y + 6.6 * text.length * Math.SQRT1_2 + 6).toBeLessThan(250);
});

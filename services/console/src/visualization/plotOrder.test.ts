import { expect, it } from 'vitest';
import { inOrder, PLOT_LOOK, plotData, seriesAt } from './plot';
import { plotOptions } from './plotOptions';

const LOOK = { text: '', muted: '', line: '', surface: '', font: '', palette: ['#111111'] };
const data = plotData({
  fields: ['_time', 'Good', 'Fair', 'Poor'],
  rows: [['2026-01-01T00:00:00Z', '1', '2', '3']],
  preview: false,
  messages: [],
});

it.each([
  [[], ['Good #ff0000', 'Fair #ffff00', 'Poor #00ff00']],
  [
    ['Poor', 'Fair', 'Good'],
    ['Poor #ff0000', 'Fair #ffff00', 'Good #00ff00'],
  ],
  // A label without data has its colour, and series without a label come behind.
  [
    ['Bad', 'Poor'],
    ['Poor #ffff00', 'Good #00ff00', 'Fair #0000ff'],
  ],
])('labels of the legend %j put series and colours in their order', (labels, expected) => {
  const plot = {
    ...PLOT_LOOK,
    legendLabels: labels,
    seriesColors: ['#ff0000', '#ffff00', '#00ff00', '#0000ff'],
  };
  const context = { look: LOOK, zone: 'UTC', width: 800, height: 250 };
  const { series } = plotOptions(inOrder(data, labels), plot, context) as {
    series: { name: string; color: string }[];
  };
  expect(series.map(({ name, color }) => `${name} ${color}`)).toEqual(expected);
});

it('a point is of the series of its height, whatever colour its group has', () => {
  const rows = [
    ['a', '1', '2'],
    ['b', '3', '4'],
  ];
  const of = (fields: string[], cells: string[][]) =>
    plotData({ fields, rows: cells, preview: false, messages: [] });
  const named = of(['host', 'x', 'y'], rows);
  const nameAt = (...args: Parameters<typeof seriesAt>) => seriesAt(...args)?.name;
  expect([0, 1].map((group) => nameAt(named, 'scatter', group))).toEqual(['y', 'y']);
  const numbers = of(
    ['x', 'y'],
    rows.map((row) => row.slice(1)),
  );
  expect(nameAt(numbers, 'bubble', 0)).toBe('y');
  expect(nameAt(named, 'pie', 1)).toBe('x');
  expect(nameAt(named, 'column', 1)).toBe('y');
});

import { expect, it } from 'vitest';
import { inOrder, PLOT_LOOK, plotData } from './plot';
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

import { expect, it } from 'vitest';
import { PLOT_LOOK, type PlotLook, plotData } from './plot';
import { plotOptions } from './plotOptions';

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

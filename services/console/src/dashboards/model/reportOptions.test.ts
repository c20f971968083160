import { expect, it } from 'vitest';
import { reportOptions } from './reportOptions';
import type { ElementKind } from './types';

const SETTINGS = new Map([
  ['display.visualizations.charting.chart.stackMode', 'stacked'],
  ['display.visualizations.charting.axisY.scale', ''],
  ['display.visualizations.trellis.enabled', '1'],
  ['display.visualizations.singlevalue.colorMode', 'block'],
  ['display.statistics.rowNumbers', '1'],
  ['display.statistics.overlay', 'heatmap'],
  ['display.events.type', 'raw'],
  ['description', 'not about the display'],
]);

it.each<[ElementKind, Record<string, string>]>([
  ['chart', { 'charting.chart.stackmode': 'stacked', 'trellis.enabled': '1' }],
  ['single', { colormode: 'block', 'trellis.enabled': '1' }],
  ['table', { rownumbers: '1', dataoverlaymode: 'heatmap' }],
  ['event', { type: 'raw' }],
  ['html', {}],
])('a report says to a %s how it looks', (kind, expected) =>
  expect(Object.fromEntries(reportOptions(kind, SETTINGS))).toEqual(expected),
);

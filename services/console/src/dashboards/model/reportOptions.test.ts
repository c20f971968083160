import { expect, it } from 'vitest';
import { customOptionsOf, reportOptions } from './reportOptions';
import type { ElementKind } from './types';

const SETTINGS = new Map([
  ['display.visualizations.charting.chart.stackMode', 'stacked'],
  ['display.visualizations.charting.axisY.scale', ''],
  ['display.visualizations.trellis.enabled', '1'],
  ['display.visualizations.singlevalue.colorMode', 'block'],
  ['display.statistics.rowNumbers', '1'],
  ['display.statistics.overlay', 'heatmap'],
  ['display.events.type', 'raw'],
  ['display.visualizations.custom.type', 'status_indicator_app.status_indicator'],
  ['display.visualizations.custom.status_indicator_app.status_indicator.colorBy', 'static_color'],
  ['description', 'not about the display'],
]);

it.each<[ElementKind, Record<string, string>]>([
  ['chart', { 'charting.chart.stackmode': 'stacked', 'trellis.enabled': '1' }],
  ['single', { colormode: 'block', 'trellis.enabled': '1' }],
  ['table', { rownumbers: '1', dataoverlaymode: 'heatmap' }],
  ['event', { type: 'raw' }],
  [
    'unsupported',
    {
      type: 'status_indicator_app.status_indicator',
      'status_indicator_app.status_indicator.colorby': 'static_color',
      'trellis.enabled': '1',
    },
  ],
  ['html', {}],
])('a report says to a %s how it looks', (kind, expected) =>
  expect(Object.fromEntries(reportOptions(kind, SETTINGS))).toEqual(expected),
);

it('a custom visualization gets its own options, however they are written', () => {
  const own = (...options: [string, string][]) =>
    Object.fromEntries(customOptionsOf(new Map(options), 'Treemap_App.treemap'));
  expect(own(['showlabels', '1'], ['display.visualizations.custom.maxcategories', '7'])).toEqual({
    showlabels: '1',
    maxcategories: '7',
  });
  expect(
    own(
      ['treemap_app.treemap.colormode', 'categorical'],
      // Of another visualization that the report was shown with before.
      ['display.visualizations.custom.sankey_app.sankey.colormode', 'sequential'],
      ['treemap_app.treemap.mincolor', '0x112233'],
      ['size', '5'],
      ['trellis.size', 'small'],
    ),
  ).toEqual({ colormode: 'categorical', mincolor: '#112233', size: '5' });
});

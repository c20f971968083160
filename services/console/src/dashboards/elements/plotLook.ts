/** From the options of a chart, in any of their spellings, to a `PlotLook`. */

import { type AxisLook, PLOT_LOOK, type PlotKind, type PlotLook } from '../../visualization/plot';
import type { Options } from '../model/types';
import { colorOf, colorsOf, flag, listOf, numberOf, numbersOf, pairsOf } from '../model/values';

const KINDS: Record<string, PlotKind> = {
  line: 'line',
  area: 'area',
  column: 'column',
  bar: 'bar',
  pie: 'pie',
  scatter: 'scatter',
  bubble: 'bubble',
  radialgauge: 'radialGauge',
  fillergauge: 'fillerGauge',
  markergauge: 'markerGauge',
};

const PLACES: Record<string, PlotLook['legend']> = {
  right: 'right',
  left: 'left',
  top: 'top',
  bottom: 'bottom',
  none: 'none',
};

const NULLS: Record<string, PlotLook['nulls']> = { gaps: 'gaps', zero: 'zero', connect: 'connect' };

/** Reads options by any of their names; names are compared in lower case. */
class Reader {
  readonly #options: Options;

  constructor(options: Options) {
    this.#options = options;
  }

  text(...names: string[]): string | undefined {
    for (const name of names) {
      const value = this.#options.get(name.toLowerCase());
      if (value !== undefined) return value;
    }
    return undefined;
  }

  word(...names: string[]): string {
    return (
      this.text(...names)
        ?.trim()
        .toLowerCase() ?? ''
    );
  }
}

function axisLook(read: Reader, axis: 'Y' | 'Y2'): AxisLook {
  const isFirst = axis === 'Y';
  const old = isFirst ? 'secondaryAxis' : 'secondaryAxis2';
  const collapsed = read.word(
    `charting.axisTitle${axis}.visibility`,
    ...(isFirst ? ['charting.secondaryAxisTitle.visibility'] : []),
  );
  const title = read.text(
    `charting.axisTitle${axis}.text`,
    ...(isFirst ? ['charting.secondaryAxisTitle.text', 'secondaryAxisTitle.text'] : []),
  );
  const number = (name: string) =>
    numberOf(
      read.text(`charting.axis${axis}.${name}`, `charting.${old}.${name}`, `${old}.${name}`),
    );
  return {
    title: collapsed === 'collapsed' ? '' : (title ?? null),
    isLog: read.word(`charting.axis${axis}.scale`, `charting.${old}.scale`) === 'log',
    min: number('minimumNumber'),
    max: number('maximumNumber'),
    majorUnit: numberOf(
      read.text(`charting.axisLabels${axis}.majorUnit`, `charting.axis${axis}.majorUnit`),
    ),
    abbreviates: ['auto', 'true', '1'].includes(read.word(`charting.axis${axis}.abbreviation`)),
    includesZero: flag(read.text(`charting.axis${axis}.includeZero`), false),
  };
}

export function chartKind(options: Options): PlotKind {
  return KINDS[options.get('charting.chart')?.trim().toLowerCase() ?? ''] ?? 'column';
}

export function plotLook(options: Options): PlotLook {
  const read = new Reader(options);
  const stack = read.word('charting.chart.stackMode', 'charting.stackMode');
  const xTitle = read.text(
    'charting.axisTitleX.text',
    'charting.primaryAxisTitle.text',
    'primaryAxisTitle.text',
  );
  const xCollapsed = read.word(
    'charting.axisTitleX.visibility',
    'charting.primaryAxisTitle.visibility',
  );
  const ellipsis = read.word('charting.legend.labelStyle.overflowMode');
  const labels = read.word('charting.chart.showDataLabels');
  const fieldColors = new Map<string, string>();
  for (const [field, color] of pairsOf(read.text('charting.fieldColors'))) {
    const known = colorOf(color);
    if (known) fieldColors.set(field, known);
  }
  return {
    kind: chartKind(options),
    stack: stack === 'stacked' ? 'stacked' : stack === 'stacked100' ? 'stacked100' : 'none',
    nulls: NULLS[read.word('charting.chart.nullValueMode', 'charting.nullValueMode')] ?? 'gaps',
    legend: PLACES[read.word('charting.legend.placement')] ?? 'right',
    legendEllipsis:
      ellipsis === 'ellipsisstart'
        ? 'start'
        : ellipsis === 'ellipsisend'
          ? 'end'
          : ellipsis === 'ellipsisnone'
            ? 'none'
            : 'middle',
    legendLabels: listOf(read.text('charting.legend.labels')),
    xTitle: xCollapsed === 'collapsed' ? '' : (xTitle ?? null),
    y: axisLook(read, 'Y'),
    y2: {
      ...axisLook(read, 'Y2'),
      isEnabled: flag(read.text('charting.axisY2.enabled'), false),
      fields: listOf(read.text('charting.axisY2.fields')),
    },
    overlay: listOf(read.text('charting.chart.overlayFields')),
    seriesColors: colorsOf(read.text('charting.seriesColors')),
    fieldColors,
    dashes: pairsOf(read.text('charting.fieldDashStyles')),
    dash: read.word('charting.lineDashStyle', 'charting.chart.lineDashStyle'),
    opacity: numberOf(read.text('charting.areaFillOpacity', 'charting.chart.areaFillOpacity')),
    labels: labels === 'minmax' ? 'minmax' : flag(labels, false) ? 'all' : 'none',
    showsPercent: flag(read.text('charting.chart.showPercent'), false),
    sliceThreshold:
      numberOf(
        read.text('charting.chart.sliceCollapsingThreshold', 'charting.sliceCollapsingThreshold'),
      ) ?? PLOT_LOOK.sliceThreshold,
    sliceLabel: read.text('charting.chart.sliceCollapsingLabel') || PLOT_LOOK.sliceLabel,
    labelRotation: numberOf(read.text('charting.axisLabelsX.majorLabelStyle.rotation')),
    hidesXLabels:
      read.word('charting.axisLabelsX.majorLabelVisibility') === 'hide' ||
      read.word('charting.axisLabelsX.axisVisibility') === 'hide',
    hidesYLabels:
      read.word('charting.axisLabelsY.majorLabelVisibility') === 'hide' ||
      read.word('charting.axisLabelsY.axisVisibility') === 'hide',
    lineWidth:
      numberOf(read.text('charting.lineWidth', 'charting.chart.lineWidth')) ?? PLOT_LOOK.lineWidth,
    hasMarkers:
      read.text('charting.chart.showMarkers') === undefined
        ? null
        : flag(read.text('charting.chart.showMarkers'), false),
    background: colorOf(read.text('charting.backgroundColor')),
    font: colorOf(read.text('charting.fontColor')),
    splitsSeries: flag(read.text('charting.layout.splitSeries'), false),
    hasGridX: flag(read.text('charting.gridLinesX.showMajorLines'), false),
    hasGridY: flag(read.text('charting.gridLinesY.showMajorLines'), true),
    ranges: numbersOf(read.text('charting.chart.rangeValues')),
    rangeColors: colorsOf(read.text('charting.gaugeColors')),
    largestBubble: Math.min(
      100,
      numberOf(read.text('charting.chart.bubbleMaximumSize')) ?? PLOT_LOOK.largestBubble,
    ),
  };
}

/** From a chart model to the drawing library's options. Colours come from the page's scheme. */

import type { EChartsCoreOption } from 'echarts/core';
import { grouped } from '../app/format';
import { formatEpoch } from '../time/zone';
import type { ChartKind, ChartModel } from './chartModel';

export interface Look {
  text: string;
  muted: string;
  line: string;
  surface: string;
  font: string;
  palette: string[];
}

/** Each colour has a contrast of 3:1 on the surface of its scheme; none is close to another one or to a grey. */
export const PALETTE_LIGHT = [
  '#0f766e',
  '#d67d22',
  '#4c6fb1',
  '#b5495b',
  '#76982b',
  '#7d5ba6',
  '#a98612',
  '#3e94b8',
  '#8c6d5a',
  '#592a49',
  '#2ba287',
  '#084b0f',
  '#3811a0',
  '#d251b9',
  '#ed4c3a',
  '#123b75',
  '#b52a8e',
  '#6915a0',
  '#593300',
  '#ba709f',
];
export const PALETTE_DARK = [
  '#4ebda7',
  '#e79a4f',
  '#7d9bd8',
  '#dd7787',
  '#a3c45a',
  '#a98ad0',
  '#dcbc55',
  '#6bb8da',
  '#b8968f',
  '#fcd9ee',
  '#219b81',
  '#b8f8b6',
  '#6d61eb',
  '#cb4ab3',
  '#e54533',
  '#507bbb',
  '#fb8bd4',
  '#ab63ea',
  '#9b7145',
  '#b36a99',
];

/** Greys of the series that stand for all others, in both schemes. */
const REST_COLORS: Record<string, string> = { OTHER: '#69737a', NULL: '#8a949b' };

/** The grey of OTHER and NULL, also of one aggregation of several (`count: OTHER`); null for other names. */
export const restColor = (name: string): string | null =>
  REST_COLORS[/(?:^|: )(OTHER|NULL)$/.exec(name)?.[1] ?? ''] ?? null;

/** The colour of the series at a place. */
export function seriesColor(name: string, at: number, palette: readonly string[]): string | null {
  return restColor(name) ?? palette[at % palette.length] ?? null;
}

/** A colour for each name, in their order. */
const colorsOf = (names: string[], palette: readonly string[]): string[] =>
  names.map((name, at) => seriesColor(name, at, palette) ?? '');

export function chartOptions(
  model: ChartModel,
  kind: Exclude<ChartKind, 'single'>,
  stacked: boolean,
  zone: string,
  look: Look,
): EChartsCoreOption {
  const names =
    kind === 'pie' ? categoryLabels(model, zone) : model.series.map((series) => series.name);
  const common = {
    color: colorsOf(names, look.palette),
    animation: false,
    textStyle: { fontFamily: look.font, fontSize: 11.5, color: look.muted },
    aria: { enabled: true },
  };
  return kind === 'pie'
    ? { ...common, ...pieOptions(model, zone, look) }
    : { ...common, ...axisOptions(model, kind, stacked, zone, look) };
}

function tooltipStyle(look: Look) {
  return {
    backgroundColor: look.surface,
    borderColor: look.line,
    textStyle: { color: look.text, fontSize: 12 },
    // The library's default markup is escaped by it; values go through our formatter.
    valueFormatter: (value: unknown) => (typeof value === 'number' ? grouped(value) : '–'),
    confine: true,
  };
}

/** Room for the longest name, within reason. */
function legendWidth(names: string[]): number {
  return Math.min(200, 40 + 7 * Math.max(...names.map((name) => name.length)));
}

function legend(look: Look, names: string[]) {
  return {
    show: names.length > 1,
    type: 'scroll',
    orient: 'vertical',
    right: 8,
    top: 12,
    bottom: 12,
    icon: 'roundRect',
    itemWidth: 12,
    itemHeight: 8,
    itemGap: 4,
    // Without the padding, the library clips paged names at the height that it estimates for letters.
    textStyle: {
      color: look.text,
      fontSize: 11.5,
      lineHeight: 14,
      padding: [3, 0],
      width: legendWidth(names) - 30,
      overflow: 'truncate',
    },
    pageTextStyle: { color: look.muted },
    data: names,
  };
}

function axisOptions(
  model: ChartModel,
  kind: 'line' | 'area' | 'column' | 'bar',
  stacked: boolean,
  zone: string,
  look: Look,
) {
  const isFlat = kind === 'bar';
  const isLine = kind === 'line' || kind === 'area';
  const names = model.series.map((series) => series.name);
  const category = {
    type: 'category',
    data: categoryLabels(model, zone),
    boundaryGap: !isLine,
    inverse: isFlat,
    axisLine: { lineStyle: { color: look.line } },
    axisTick: { show: false },
    axisLabel: {
      color: look.muted,
      hideOverlap: true,
      width: isFlat ? 200 : 120,
      overflow: 'truncate',
    },
  };
  const value = {
    type: 'value',
    splitLine: { lineStyle: { color: look.line } },
    axisLabel: { color: look.muted },
    minInterval: everyWhole(model) ? 1 : 0,
  };
  return {
    grid: {
      left: 12,
      right: names.length > 1 ? legendWidth(names) + 30 : 20,
      top: 16,
      bottom: 12,
      containLabel: true,
    },
    legend: legend(look, names),
    tooltip: {
      trigger: 'axis',
      axisPointer: { type: isLine ? 'line' : 'shadow' },
      order: 'valueDesc',
      ...tooltipStyle(look),
    },
    xAxis: isFlat ? value : category,
    yAxis: isFlat ? category : value,
    series: model.series.map((series) => ({
      name: series.name,
      type: isLine ? 'line' : 'bar',
      data: series.values,
      stack: stacked ? 'all' : undefined,
      areaStyle: kind === 'area' ? { opacity: stacked ? 0.55 : 0.18 } : undefined,
      showSymbol: isLine && model.categories.length <= 40,
      symbolSize: 4,
      lineStyle: isLine ? { width: 1.6 } : undefined,
      barMaxWidth: 36,
      barCategoryGap: '18%',
      large: model.categories.length > 1000,
    })),
  };
}

function pieOptions(model: ChartModel, zone: string, look: Look) {
  const values = model.series[0]?.values ?? [];
  const names = categoryLabels(model, zone);
  return {
    legend: legend(look, names),
    tooltip: { trigger: 'item', ...tooltipStyle(look) },
    series: [
      {
        type: 'pie',
        name: model.series[0]?.name,
        radius: ['0%', '76%'],
        center: ['42%', '50%'],
        label: { color: look.text, fontSize: 11.5, formatter: '{b}  {d}%' },
        itemStyle: { borderColor: look.surface, borderWidth: 1 },
        data: names.map((name, index) => ({ name, value: values[index] ?? 0 })),
      },
    ],
  };
}

/** Labels as short as tells them apart: no date within a day, no seconds on whole minutes. */
function timeLabels(moments: number[], zone: string): string[] {
  const walls = moments.map((milliseconds) => formatEpoch(milliseconds / 1000, zone));
  const isOneDay = new Set(walls.map((wall) => wall.slice(0, 10))).size === 1;
  const areWholeMinutes = walls.every((wall) => wall.endsWith(':00'));
  return walls.map((wall) => wall.slice(isOneDay ? 11 : 5, areWholeMinutes ? -3 : undefined));
}

function categoryLabels(model: ChartModel, zone: string): string[] {
  return model.isTime
    ? timeLabels(model.categories.map(Number), zone)
    : model.categories.map(String);
}

function everyWhole(model: ChartModel): boolean {
  return model.series.every((series) =>
    series.values.every((value) => value === null || Number.isInteger(value)),
  );
}

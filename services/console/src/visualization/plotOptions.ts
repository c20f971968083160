/** From a plot to the options of ECharts. */

import type { EChartsCoreOption } from 'echarts/core';
import { compact, short } from '../app/format';
import { cellNumber } from '../statistics/table';
import { epochToWall, wallToEpoch } from '../time/zone';
import { type Look, restColor, seriesColor } from './chartOptions';
import {
  type AxisLook,
  hasNumbers,
  isNumber,
  type PlotData,
  type PlotLook,
  type PlotSeries,
} from './plot';
import { timeTicks } from './timeTicks';

/** Categories beyond which symbols on lines would touch. */
const FEW = 40;

/** The wall time of a zone as if it were UTC: the library knows the browser's zone and UTC only. */
export function shifted(epoch: number, zone: string): number {
  return wallToEpoch(epochToWall(epoch, zone), 'UTC') * 1000 + ((epoch * 1000) % 1000);
}

export interface PlotContext {
  look: Look;
  zone: string;
  /** Pixels. */
  width: number;
  height: number;
}

export function plotOptions(
  data: PlotData,
  plot: PlotLook,
  context: PlotContext,
): EChartsCoreOption {
  const { look } = context;
  const text = plot.font ?? look.muted;
  const common = {
    color: plot.seriesColors.length > 0 ? plot.seriesColors : look.palette,
    animation: false,
    useUTC: true,
    backgroundColor: plot.background ?? 'transparent',
    textStyle: { fontFamily: look.font, fontSize: 11.5, color: text },
  };
  switch (plot.kind) {
    case 'pie':
      return { ...common, ...pie(data, plot, context) };
    case 'scatter':
    case 'bubble':
      return { ...common, ...scatter(data, plot, context) };
    case 'radialGauge':
      return { ...common, ...gauge(data, plot, context) };
    default:
      return { ...common, ...axes(data, plot, context) };
  }
}

const number = (value: unknown) => (typeof value === 'number' ? short(value) : '–');

function tooltip(look: Look) {
  return {
    backgroundColor: look.surface,
    borderColor: look.line,
    textStyle: { color: look.text, fontSize: 12 },
    // Names come from events: the library escapes them in its own markup.
    valueFormatter: number,
    confine: true,
    appendTo: 'body',
  };
}

function shortened(name: string, plot: PlotLook, most: number): string {
  if (name.length <= most || plot.legendEllipsis === 'none') return name;
  if (plot.legendEllipsis === 'start') return `…${name.slice(1 - most)}`;
  if (plot.legendEllipsis === 'end') return `${name.slice(0, most - 1)}…`;
  const half = Math.floor((most - 1) / 2);
  return `${name.slice(0, half)}…${name.slice(half - most + 1)}`;
}

/** Pixels of a name of a legend, of what is between two of them, and of the buttons below them. */
const ROW = 20;
const ROW_GAP = 2;
const PAGE_GAP = 6;
const PAGE_ICON = 15;
/** Of the legend, at each side. */
const LEGEND_TOP = 8;
const LEGEND_PADDING = 5;

/** A column of names as high as the chart; pages are of whole names. */
export function column(count: number, height: number): { top: number; height?: number } {
  const room = height - 2 * (LEGEND_TOP + LEGEND_PADDING);
  const step = ROW + ROW_GAP;
  if (count * step - ROW_GAP <= room) return { top: LEGEND_TOP, height: room };
  const buttons = PAGE_GAP + PAGE_ICON;
  const rows = Math.max(1, Math.floor((room - buttons + ROW_GAP) / step));
  return { top: LEGEND_TOP, height: rows * step - ROW_GAP + buttons };
}

function legend(names: string[], plot: PlotLook, { look, width, height }: PlotContext) {
  // A narrow chart has no room beside it.
  const place =
    plot.legend === 'right' || plot.legend === 'left'
      ? width < 420
        ? 'bottom'
        : plot.legend
      : plot.legend;
  const isSide = place === 'right' || place === 'left';
  // One series is named by its axis.
  const isHidden = place === 'none' || names.length < 2;
  const longest = Math.max(0, ...names.map((name) => name.length));
  const room =
    isHidden || !isSide ? 0 : Math.min(Math.floor(width * 0.3), 40 + 6.5 * Math.min(longest, 28));
  const most = isSide ? Math.max(8, Math.floor((room - 36) / 6.2)) : 36;
  return {
    room,
    place: isHidden ? 'none' : place,
    options: {
      show: !isHidden,
      type: 'scroll',
      orient: isSide ? 'vertical' : 'horizontal',
      ...(isSide
        ? { ...column(names.length, height), [place]: 6 }
        : { [place]: 2, left: 'center' }),
      icon: 'roundRect',
      itemWidth: 12,
      itemHeight: 8,
      itemGap: isSide ? ROW_GAP : 8,
      pageButtonGap: PAGE_GAP,
      pageIconSize: PAGE_ICON,
      // Without the padding, the library clips paged names at the height that it estimates for letters.
      textStyle: {
        color: plot.font ?? look.text,
        fontSize: 11.5,
        lineHeight: ROW - 6,
        padding: [3, 0],
      },
      pageTextStyle: { color: look.muted },
      pageIconColor: look.muted,
      formatter: (name: string) => shortened(name, plot, most),
      tooltip: { show: true },
      data:
        plot.legendLabels.length > 0
          ? [...new Set([...plot.legendLabels, ...names])].filter((name) => names.includes(name))
          : names,
    },
  };
}

/** Pixels of a letter, rather too many. */
const LETTER = 6.6;

/** Labels of a value axis beyond which the unit of its author is left out: they would overlap, or none be drawn. */
const MOST_UNITS = 20;

/** The least and the largest end of what is drawn on an axis. `sets`: of each place, the values of its series. */
function extentOf(sets: (number | null | undefined)[][], isStacked: boolean): [number, number] {
  let [least, most] = [0, 0];
  for (const set of sets) {
    let [below, above] = [0, 0];
    for (const value of set) {
      if (isStacked && (value ?? 0) < 0) below += value ?? 0;
      else if (isStacked) above += value ?? 0;
      else [below, above] = [Math.min(below, value ?? 0), Math.max(above, value ?? 0)];
    }
    [least, most] = [Math.min(least, below), Math.max(most, above)];
  }
  return [least, most];
}

/** The distance of labels that the author wants, if there are not too many of them. */
function unitOf({ majorUnit, min, max, isLog }: AxisLook, [least, most]: [number, number]) {
  if (majorUnit === null || majorUnit <= 0) return undefined;
  const count = ((max ?? most) - (min ?? least)) / majorUnit;
  return isLog || count <= MOST_UNITS ? majorUnit : undefined;
}

const valueText = (axis: AxisLook, value: number): string =>
  axis.abbreviates || Math.abs(value) >= 1e7 ? compact(value) : number(value);

/** Pixels between two labels side by side, and the letters of the shortest one that is counted with. */
const LABEL_GAP = 16;
const LEAST_LETTERS = 4;

/** Steps of a horizontal value axis: those without room would be left out here and there. */
function stepsIn(width: number, axis: AxisLook, [least, most]: [number, number]): number {
  const texts = [axis.min ?? least, axis.max ?? most].map((value) => valueText(axis, value).length);
  const label = LETTER * Math.max(LEAST_LETTERS, ...texts) + LABEL_GAP;
  // The library takes up to half as many steps more, to have round numbers.
  return Math.max(1, Math.min(5, Math.floor(width / label / 1.5)));
}

/** `hasBase`: bars and areas stand on zero; lines and points show their shape, from the tick below the least value. */
function valueAxis(
  axis: AxisLook,
  name: string,
  plot: PlotLook,
  { look }: PlotContext,
  extent: [number, number],
  hasBase: boolean,
) {
  const isScaled = !hasBase && !axis.includesZero && !axis.isLog && axis.min === null;
  const { max } = axis;
  // Where all values are beyond the end that the author has set, the axis would be upside down.
  const least = max === null ? undefined : (of: { min: number }) => (of.min < max ? undefined : 0);
  return {
    type: axis.isLog ? 'log' : 'value',
    name,
    nameLocation: 'middle',
    nameTextStyle: { color: plot.font ?? look.muted },
    min: axis.min ?? (isScaled ? least : undefined),
    max: max ?? undefined,
    interval: unitOf(axis, extent),
    scale: isScaled,
    splitLine: { show: plot.hasGridY, lineStyle: { color: look.line } },
    axisLabel: {
      show: !plot.hidesYLabels,
      color: plot.font ?? look.muted,
      hideOverlap: true,
      formatter: (value: number) => valueText(axis, value),
    },
  };
}

function colorOf(series: PlotSeries, at: number, plot: PlotLook, look: Look): string {
  return (
    plot.fieldColors.get(series.name) ??
    plot.seriesColors[at] ??
    seriesColor(series.name, at, plot.seriesColors.length > 0 ? plot.seriesColors : look.palette) ??
    look.text
  );
}

const DASHES: Record<string, 'dashed' | 'dotted'> = {
  dash: 'dashed',
  shortdash: 'dashed',
  longdash: 'dashed',
  dashdot: 'dashed',
  shortdashdot: 'dashed',
  longdashdot: 'dashed',
  longdashdotdot: 'dashed',
  shortdashdotdot: 'dashed',
  dot: 'dotted',
  shortdot: 'dotted',
};

/**
 * Values as they are drawn: null as a gap, zero, or nothing; as shares of the whole. In a stack of areas null is
 * zero: the areas above a gap would have no lower edge.
 */
function drawnValues(
  data: PlotData,
  plot: PlotLook,
  stacked: PlotSeries[],
): Map<PlotSeries, (number | null)[]> {
  const isAreaStack = plot.kind === 'area' && plot.stack !== 'none' && !isSplit(data, plot);
  const isZero = (series: PlotSeries) =>
    plot.nulls === 'zero' || (isAreaStack && stacked.includes(series));
  const all = new Map(
    data.series.map((series) => [
      series,
      series.values.map((value) => (value === null && isZero(series) ? 0 : value)),
    ]),
  );
  if (plot.stack !== 'stacked100') return all;
  data.categories.forEach((_, at) => {
    const whole = stacked.reduce((sum, series) => sum + Math.abs(series.values[at] ?? 0), 0);
    for (const series of stacked) {
      const values = all.get(series);
      const value = values?.[at] ?? null;
      if (values) values[at] = value === null || whole === 0 ? value : (100 * value) / whole;
    }
  });
  return all;
}

/** Whether each series has a grid of its own. */
const isSplit = (data: PlotData, plot: PlotLook) => plot.splitsSeries && data.series.length > 1;

function axes(data: PlotData, plot: PlotLook, context: PlotContext) {
  const { look, zone } = context;
  const isFlat = plot.kind === 'bar';
  const isLine = plot.kind === 'line' || plot.kind === 'area';
  const onSecond = (series: PlotSeries) =>
    plot.y2.isEnabled &&
    (plot.y2.fields.length > 0
      ? plot.y2.fields.includes(series.name)
      : plot.overlay.includes(series.name));
  const isOverlay = (series: PlotSeries) => !isLine && plot.overlay.includes(series.name);
  const stacked = data.series.filter((series) => !isOverlay(series) && !onSecond(series));
  const values = drawnValues(data, plot, stacked);
  const names = data.series.map((series) => series.name);
  const shown = legend(names, plot, context);
  const isTime =
    data.isTime && !isFlat && data.categories.every((value) => typeof value === 'number');
  const times = isTime ? data.categories.map((value) => shifted(Number(value), zone)) : [];
  const half = isTime && !isLine ? (data.span * 1000) / 2 : 0;
  const xName =
    plot.xTitle ??
    (data.category.startsWith('_') ? (data.isTime ? '' : data.category) : data.category);
  const single = data.series.length === 1 ? (data.series[0]?.name ?? '') : '';
  const labels = isTime ? [] : categoryTexts(data, zone);
  const grids = isSplit(data, plot) ? data.series.length : 1;
  const widest = isFlat ? Math.min(180, context.width * 0.3) : 110;
  const longest = Math.max(0, ...labels.map((label) => label.length));
  const beside = (plot.hidesXLabels ? 0 : Math.min(widest, LETTER * longest)) + NAME_GAP;
  const ticks = isTime ? ticksOf(times, half, context.width - shown.room, plot) : null;
  const category = {
    ...(isTime
      ? {
          type: 'time',
          min: times.length > 0 && half > 0 ? Math.min(...times) - half : undefined,
          max: times.length > 0 && half > 0 ? Math.max(...times) + half : undefined,
        }
      : { type: 'category', data: labels, boundaryGap: !isLine }),
    inverse: isFlat,
    name: xName,
    nameLocation: 'middle',
    nameTextStyle: { color: plot.font ?? look.muted },
    axisLine: { lineStyle: { color: look.line } },
    axisTick: { show: false, ...(ticks ? { customValues: ticks.values } : {}) },
    splitLine: { show: plot.hasGridX, lineStyle: { color: look.line } },
    axisLabel: {
      show: !plot.hidesXLabels,
      color: plot.font ?? look.muted,
      hideOverlap: true,
      rotate: plot.labelRotation === null ? undefined : -plot.labelRotation,
      ...(ticks ? { customValues: ticks.values, formatter: ticks.text } : {}),
      ...(isFlat ? { interval: intervalOf(labels.length, context.height / grids) } : {}),
      ...(isTime ? {} : { width: widest, overflow: 'truncate' }),
    },
    // Behind the labels of bars, as wide as they are: by itself, the library puts it on those that it has cut.
    ...(isFlat ? { nameGap: beside, nameMoveOverlap: false } : {}),
  };
  const bounds = {
    left: shown.place === 'left' ? shown.room + 14 : 10,
    right: shown.place === 'right' ? shown.room + 14 : 16,
    top: shown.place === 'top' ? 34 : 14,
    bottom: shown.place === 'bottom' ? 32 : 8,
  };
  const extent = (shown: PlotSeries[]) =>
    extentOf(
      data.categories.map((_, at) => shown.map((series) => values.get(series)?.[at])),
      plot.stack !== 'none' && plot.kind !== 'line' && grids === 1,
    );
  const whole = plot.stack === 'stacked100' ? { ...plot.y, max: plot.y.max ?? 100 } : plot.y;
  const reach = extent(data.series.filter((series) => !onSecond(series)));
  const y = {
    ...valueAxis(whole, plot.y.title ?? single, plot, context, reach, plot.kind !== 'line'),
    ...(isFlat
      ? { splitNumber: stepsIn(context.width - shown.room - beside - EDGES, whole, reach) }
      : {}),
  };
  const second = data.series.filter(onSecond);
  const hasBars = plot.kind !== 'line' && !(plot.kind !== 'area' && second.every(isOverlay));
  const y2 = {
    ...valueAxis(plot.y2, plot.y2.title ?? '', plot, context, extent(second), hasBars),
    splitLine: { show: false },
  };
  const hasSecond = second.length > 0;
  const room = context.height - bounds.top - bounds.bottom;
  // The last grid has the labels of all below it.
  const turned = Math.abs(Math.sin(((plot.labelRotation ?? 0) * Math.PI) / 180));
  const across = isTime ? TIME_LABEL : Math.min(widest, LETTER * longest);
  const name = xName === '' ? 0 : NAME_GAP;
  const wanted = isFlat ? 0 : name + (plot.hidesXLabels ? 0 : LABEL_HEIGHT + turned * across);
  const below = Math.min(wanted, room / 2);
  const each = (room - below) / grids;
  const valueAxes =
    grids > 1
      ? data.series.map((series, at) => ({
          ...valueAxis(
            plot.y,
            plot.y.title === '' || each < LEAST_TITLED
              ? ''
              : shortened(series.name, plot, Math.floor(each / LETTER)),
            plot,
            context,
            extent([series]),
            plot.kind !== 'line',
          ),
          gridIndex: at,
          splitNumber: 2,
        }))
      : hasSecond
        ? [y, y2]
        : y;
  const categoryAxes =
    grids > 1
      ? data.series.map((_, at) => ({
          ...category,
          gridIndex: at,
          name: at === grids - 1 ? xName : '',
          axisLabel: {
            ...category.axisLabel,
            show: !plot.hidesXLabels && (isFlat || at === grids - 1),
          },
        }))
      : category;
  const grid =
    grids > 1
      ? data.series.map((_, at) => ({
          ...bounds,
          top: bounds.top + each * at,
          height: Math.max(1, each - GRID_GAP) + (at === grids - 1 ? below : 0),
          bottom: undefined,
          outerBoundsMode: 'same',
        }))
      : { ...bounds, outerBoundsMode: 'same' };
  const xKey = isFlat ? 'xAxisIndex' : 'yAxisIndex';
  return {
    grid,
    legend: shown.options,
    tooltip: {
      trigger: 'axis',
      axisPointer: { type: isLine ? 'line' : 'shadow' },
      ...tooltip(look),
    },
    xAxis: isFlat ? valueAxes : categoryAxes,
    yAxis: isFlat ? categoryAxes : valueAxes,
    series: data.series.map((series, at) => {
      const drawn = values.get(series) ?? [];
      const asLine = isLine || isOverlay(series);
      const isStacked = plot.stack !== 'none' && stacked.includes(series) && plot.kind !== 'line';
      const color = colorOf(series, series.place ?? at, plot, look);
      const few = data.categories.length <= FEW;
      return {
        name: series.name,
        type: asLine ? 'line' : 'bar',
        data: isTime ? drawn.map((value, index) => [times[index] ?? 0, value]) : drawn,
        color,
        stack: isStacked && grids === 1 ? 'all' : undefined,
        areaStyle:
          plot.kind === 'area' && !isOverlay(series)
            ? { opacity: plot.opacity ?? (isStacked ? 0.6 : 0.2) }
            : undefined,
        connectNulls: plot.nulls === 'connect',
        ...(asLine ? symbols(drawn, plot.nulls === 'connect', plot.hasMarkers ?? few) : {}),
        sampling: asLine && data.categories.length > 2_000 ? 'lttb' : undefined,
        lineStyle: asLine
          ? {
              width: plot.lineWidth,
              type: DASHES[plot.dashes.get(series.name)?.toLowerCase() ?? plot.dash] ?? 'solid',
            }
          : undefined,
        barMaxWidth: 60,
        barCategoryGap: '20%',
        large: !asLine && data.categories.length > 2_000,
        emphasis: { focus: 'none' },
        ...(grids > 1
          ? { xAxisIndex: at, yAxisIndex: at }
          : { [xKey]: hasSecond && onSecond(series) ? 1 : 0 }),
        ...dataLabels(drawn, plot, look, isStacked, isFlat),
      };
    }),
  };
}

/** Pixels of a label of a time axis with the gap beside it: upright, or turned. */
const TIME_LABEL = 64;
const TURNED_LABEL = 24;
/** Of the labels of the other axis, about. */
const VALUE_LABELS = 70;

function ticksOf(times: number[], half: number, width: number, plot: PlotLook) {
  const each = plot.labelRotation ? TURNED_LABEL : TIME_LABEL;
  const most = Math.floor((width - VALUE_LABELS) / each);
  return timeTicks(Math.min(...times) - half, Math.max(...times) + half, most);
}

/** Pixels between two grids, and of the least one with a title: the legend names the series as well. */
const GRID_GAP = 8;
const LEAST_TITLED = 60;
/** Pixels at both sides of a horizontal axis. */
const EDGES = 40;
/** Pixels between the axis of bars, its labels and its name. */
const NAME_GAP = 18;

/** Pixels of a label below another one, and of the axis below the bars with its name. */
const LABEL_HEIGHT = 15;
const AXIS_HEIGHT = 60;

/** Labels of bars that are left out after each. By itself, the library lets them overlap, or the bars shrink. */
function intervalOf(count: number, height: number): number {
  const most = Math.max(1, Math.floor((height - AXIS_HEIGHT) / LABEL_HEIGHT));
  return Math.max(0, Math.ceil(count / most) - 1);
}

/** Points on a line; without them, a value between two gaps would be drawn as nothing. */
function symbols(values: (number | null)[], isConnected: boolean, areShown: boolean) {
  if (areShown) return { showSymbol: true, symbolSize: 5 };
  const at = (index: number) => values[index] ?? null;
  const isLone = (index: number) =>
    at(index) !== null && at(index - 1) === null && at(index + 1) === null;
  if (isConnected || !values.some((_, index) => isLone(index))) return { showSymbol: false };
  return {
    showSymbol: true,
    showAllSymbol: true,
    symbolSize: (_: unknown, { dataIndex }: { dataIndex: number }) => (isLone(dataIndex) ? 5 : 0),
  };
}

function dataLabels(
  values: (number | null)[],
  plot: PlotLook,
  look: Look,
  isInside: boolean,
  isFlat: boolean,
) {
  if (plot.labels === 'none') return {};
  const numbers = values.filter((value): value is number => value !== null);
  const [least, most] = [Math.min(...numbers), Math.max(...numbers)];
  return {
    label: {
      show: true,
      position: isInside ? 'inside' : isFlat ? 'right' : 'top',
      color: isInside ? undefined : (plot.font ?? look.text),
      fontSize: 10.5,
      formatter: ({ value }: { value: unknown }) => {
        const shown = Array.isArray(value) ? value[1] : value;
        const isExtreme = shown === least || shown === most;
        return typeof shown === 'number' && (plot.labels === 'all' || isExtreme)
          ? number(shown)
          : '';
      },
    },
    labelLayout: { hideOverlap: true },
  };
}

const pad = (value: number) => String(value).padStart(2, '0');

/** Labels of categories; times as short as tells them apart. */
export function categoryTexts(data: PlotData, zone: string): string[] {
  if (!data.isTime) return data.categories.map((value) => String(value) || '(empty)');
  const walls = data.categories.map((value) =>
    typeof value === 'number' ? epochToWall(value, zone) : null,
  );
  const days = new Set(walls.map((wall) => (wall ? `${wall.month}-${wall.day}` : '')));
  return walls.map((wall, at) => {
    if (!wall) return String(data.categories[at]);
    const clock = `${pad(wall.hour)}:${pad(wall.minute)}${wall.second > 0 ? `:${pad(wall.second)}` : ''}`;
    const isDay = data.span >= 86_400;
    if (isDay) return `${wall.year}-${pad(wall.month)}-${pad(wall.day)}`;
    return days.size > 1 ? `${pad(wall.month)}-${pad(wall.day)} ${clock}` : clock;
  });
}

/** The slices of a pie; those below the threshold are one. Each knows the row it stands for. */
export function slices(data: PlotData, plot: PlotLook, zone: string) {
  const series = data.series[0];
  const names = categoryTexts(data, zone);
  const all = names.map((name, row) => ({
    name,
    row,
    value: Math.max(0, series?.values[row] ?? 0),
  }));
  const whole = all.reduce((sum, slice) => sum + slice.value, 0);
  const small = all.filter((slice) => whole > 0 && slice.value / whole < plot.sliceThreshold);
  if (small.length < 2) return all;
  const rest = small.reduce((sum, slice) => sum + slice.value, 0);
  return [
    ...all.filter((slice) => !small.includes(slice)),
    { name: `${plot.sliceLabel} (${small.length})`, row: -1, value: rest },
  ];
}

/** What the library says of a slice. */
interface Slice {
  name: string;
  percent: number;
  dataIndex: number;
}

/** Letters of a share behind a name, and of a name that tell slices apart. */
const SHARE = 8;
const TELLING = 8;

/**
 * The label of a slice in the room in pixels: with its share, else with a shorter name, and without the share where
 * too little of the name would be left. The tooltip has both.
 */
export function sliceLabel(name: string, percent: number | null, room: number): string {
  const letters = Math.max(4, Math.floor(room / LETTER));
  const share = percent === null ? '' : `: ${Math.round(10 * percent) / 10} %`;
  const rest = letters - share.length;
  const [most, end] = rest >= Math.min(TELLING, name.length) ? [rest, share] : [letters, ''];
  return (name.length > most ? `${name.slice(0, most - 1)}…` : name) + end;
}

/** Pixels of the line to a label, along the radius and behind it, of the gap before the label, and at the edge. */
const LINE = 8;
const LINE_END = 6;
const GAP = 5;
const EDGE = 10;

/** The circle, smaller where labels need the width, and the room of the label of each slice, by its angle. */
function pieSize(all: { name: string; value: number }[], plot: PlotLook, context: PlotContext) {
  const { width, height } = context;
  const names = all.map(({ name }) => name.length);
  const longest = Math.max(0, ...names) + (plot.showsPercent ? SHARE : 0);
  const least = Math.min(width, height);
  const beside = width / 2 - LINE - LINE_END - GAP - EDGE - longest * LETTER;
  const radius = Math.max(0.2 * least, Math.min((width < 300 ? 0.3 : 0.35) * least, beside));
  const whole = all.reduce((sum, slice) => sum + slice.value, 0);
  let before = 0;
  const rooms = all.map(({ value }) => {
    const middle = whole > 0 ? (before + value / 2) / whole : 0.25;
    before += value;
    const across = Math.abs(Math.sin(2 * Math.PI * middle));
    return width / 2 - (radius + LINE) * across - LINE_END - GAP - EDGE;
  });
  return { radius, rooms };
}

function pie(data: PlotData, plot: PlotLook, context: PlotContext) {
  const { look, zone } = context;
  const all = slices(data, plot, zone);
  const whole = all.reduce((sum, slice) => sum + slice.value, 0);
  const { radius, rooms } = pieSize(all, plot, context);
  return {
    tooltip: {
      trigger: 'item',
      ...tooltip(look),
      valueFormatter: (value: unknown) =>
        typeof value === 'number' && whole > 0
          ? `${number(value)} (${((100 * value) / whole).toFixed(1)} %)`
          : number(value),
    },
    series: [
      {
        type: 'pie',
        name: data.series[0]?.name,
        radius: [0, radius],
        center: ['50%', '50%'],
        label: {
          color: plot.font ?? look.text,
          fontSize: 11.5,
          // That of the library is what the browser measures, and labels stand on each other.
          lineHeight: 15,
          formatter: ({ name, percent, dataIndex }: Slice) =>
            sliceLabel(name, plot.showsPercent ? percent : null, rooms[dataIndex] ?? 0),
          minMargin: 3,
        },
        // A label that has no room is left out; the tooltip of its slice has it.
        labelLayout: { hideOverlap: true },
        labelLine: { length: LINE, length2: LINE_END },
        itemStyle: { borderColor: look.surface, borderWidth: 1 },
        data: all.map(({ name, value, row }, at) => ({
          name,
          value,
          row,
          itemStyle: {
            color:
              plot.fieldColors.get(name) ??
              plot.seriesColors[at] ??
              restColor(row === -1 ? 'OTHER' : name) ??
              plot.seriesColors[at % Math.max(1, plot.seriesColors.length)],
          },
        })),
      },
    ],
  };
}

/**
 * Points: two columns are x and y; with a text column in front, it names the series. A bubble has a third number,
 * its size.
 */
function scatter(data: PlotData, plot: PlotLook, context: PlotContext) {
  const { look } = context;
  const isNumeric = hasNumbers(data);
  const [first, second, third] = data.series;
  const x = isNumeric ? data.categories.map(Number) : (first?.values ?? []);
  const y = isNumeric ? first : second;
  const size = plot.kind === 'bubble' ? (isNumeric ? second : third) : undefined;
  const largest = Math.max(1, ...(size?.values ?? []).map((value) => Math.abs(value ?? 0)));
  const groups = new Map<string, number[]>();
  data.categories.forEach((value, row) => {
    // A row whose x is not a number has no place.
    if (isNumeric && !isNumber(value)) return;
    const name = isNumeric ? (y?.name ?? '') : String(value);
    groups.set(name, [...(groups.get(name) ?? []), row]);
  });
  const names = [...groups.keys()];
  const shown = legend(isNumeric ? [] : names, plot, context);
  const xName = plot.xTitle ?? (isNumeric ? data.category : (first?.name ?? ''));
  const xAxis = { ...plot.y, isLog: false, min: null, max: null, includesZero: false };
  const xReach = extentOf([x], false);
  return {
    grid: {
      left: 10,
      right: shown.place === 'right' ? shown.room + 14 : 16,
      top: 14,
      bottom: shown.place === 'bottom' ? 32 : 8,
      outerBoundsMode: 'same',
    },
    legend: shown.options,
    tooltip: { trigger: 'item', ...tooltip(look) },
    xAxis: {
      ...valueAxis(xAxis, xName, plot, context, xReach, false),
      splitNumber: stepsIn(context.width - shown.room - VALUE_LABELS - EDGES, xAxis, xReach),
    },
    yAxis: valueAxis(
      plot.y,
      plot.y.title ?? y?.name ?? '',
      plot,
      context,
      extentOf([y?.values ?? []], false),
      false,
    ),
    series: [...groups].map(([name, rows]) => ({
      name,
      type: 'scatter',
      color: plot.fieldColors.get(name),
      data: rows.map((row) => ({
        value: [x[row] ?? null, y?.values[row] ?? null, size?.values[row] ?? 1],
        row,
      })),
      symbolSize: size
        ? (value: number[]) =>
            6 + (plot.largestBubble - 6) * Math.sqrt(Math.abs(value[2] ?? 0) / largest)
        : 7,
      itemStyle: { opacity: 0.75 },
    })),
  };
}

const GAUGE_COLORS = ['#3f9c5a', '#d9a400', '#c94a3a'];

/** The bounds that the command `gauge` puts beside the value: fields `x, y1, y2 …`. Null for other results. */
function gaugeRow({ category, series }: PlotData): number[] | null {
  const isGauge = category === 'x' && series.every(({ name }, at) => name === `y${at + 1}`);
  return isGauge && series.length > 0 ? series.flatMap(({ values }) => values[0] ?? []) : null;
}

/** The ranges of a gauge, with a colour for each: those of its options, else those of its row. */
export function gaugeRanges(
  data: PlotData,
  plot: PlotLook,
): { bounds: number[]; colors: string[] } {
  const known = [plot.ranges, gaugeRow(data) ?? []].find((ranges) => ranges.length >= 2);
  const bounds = known ?? [0, 30, 70, 100];
  const palette = plot.rangeColors.length > 0 ? plot.rangeColors : GAUGE_COLORS;
  const colors = bounds.slice(1).map((_, at) => palette[at % palette.length] ?? '#888888');
  return { bounds, colors };
}

/** The value of a gauge: of the command `gauge` the first column, which is elsewhere the category. */
export function gaugeValue(data: PlotData): number | null {
  if (gaugeRow(data) === null) return data.series[0]?.values.at(0) ?? null;
  return cellNumber(String(data.categories[0] ?? ''));
}

function gauge(data: PlotData, plot: PlotLook, { look, height }: PlotContext) {
  const { bounds, colors } = gaugeRanges(data, plot);
  const [least, most] = [bounds[0] ?? 0, bounds.at(-1) ?? 100];
  const value = gaugeValue(data);
  return {
    series: [
      {
        type: 'gauge',
        min: least,
        max: most,
        radius: '92%',
        center: ['50%', '55%'],
        axisLine: {
          lineStyle: {
            width: Math.max(8, height / 18),
            color: bounds
              .slice(1)
              .map((bound, at) => [(bound - least) / (most - least || 1), colors[at]]),
          },
        },
        pointer: { itemStyle: { color: look.text }, width: 4 },
        axisTick: { show: false },
        splitLine: { show: false },
        axisLabel: { color: look.muted, fontSize: 10.5, distance: 14, formatter: compact },
        detail: {
          formatter: value === null ? '–' : number(value),
          color: look.text,
          fontSize: 20,
          offsetCenter: [0, '62%'],
        },
        data: [{ value: value ?? least }],
      },
    ],
  };
}

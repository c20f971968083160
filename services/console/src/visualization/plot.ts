/** What a chart of a dashboard shows and how: independent of who wrote it and of the drawing library. */

import type { ResultRows } from '../api/types';
import { type Cell, cellNumber, cellText, timeColumnOf } from '../statistics/table';
import { isoTime } from '../time/zone';

export type PlotKind =
  | 'line'
  | 'area'
  | 'column'
  | 'bar'
  | 'pie'
  | 'scatter'
  | 'bubble'
  | 'radialGauge'
  | 'fillerGauge'
  | 'markerGauge';

export interface AxisLook {
  /** Null for the name of the field, empty for none. */
  title: string | null;
  isLog: boolean;
  min: number | null;
  max: number | null;
  majorUnit: number | null;
  abbreviates: boolean;
  includesZero: boolean;
}

export interface PlotLook {
  kind: PlotKind;
  stack: 'none' | 'stacked' | 'stacked100';
  nulls: 'gaps' | 'zero' | 'connect';
  legend: 'right' | 'bottom' | 'top' | 'left' | 'none';
  /** Which end of a long name is left out. */
  legendEllipsis: 'start' | 'middle' | 'end' | 'none';
  legendLabels: string[];
  xTitle: string | null;
  y: AxisLook;
  y2: AxisLook & { isEnabled: boolean; fields: string[] };
  overlay: string[];
  seriesColors: string[];
  fieldColors: ReadonlyMap<string, string>;
  dashes: ReadonlyMap<string, string>;
  /** Of the lines that `dashes` does not name; empty for the default. */
  dash: string;
  /** Of areas, from 0 to 1; null for the default. */
  opacity: number | null;
  labels: 'none' | 'all' | 'minmax';
  showsPercent: boolean;
  /** Share below which slices become one. */
  sliceThreshold: number;
  sliceLabel: string;
  labelRotation: number | null;
  hidesXLabels: boolean;
  hidesYLabels: boolean;
  lineWidth: number;
  hasMarkers: boolean | null;
  background: string | null;
  font: string | null;
  splitsSeries: boolean;
  hasGridX: boolean;
  hasGridY: boolean;
  ranges: number[];
  rangeColors: string[];
  largestBubble: number;
}

const AXIS: AxisLook = {
  title: null,
  isLog: false,
  min: null,
  max: null,
  majorUnit: null,
  abbreviates: false,
  includesZero: false,
};

export const PLOT_LOOK: PlotLook = {
  kind: 'column',
  stack: 'none',
  nulls: 'gaps',
  legend: 'right',
  legendEllipsis: 'middle',
  legendLabels: [],
  xTitle: null,
  y: AXIS,
  y2: { ...AXIS, isEnabled: false, fields: [] },
  overlay: [],
  seriesColors: [],
  fieldColors: new Map(),
  dashes: new Map(),
  dash: '',
  opacity: null,
  labels: 'none',
  showsPercent: false,
  sliceThreshold: 0.01,
  sliceLabel: 'other',
  labelRotation: null,
  hidesXLabels: false,
  hidesYLabels: false,
  lineWidth: 1.8,
  hasMarkers: null,
  background: null,
  font: null,
  splitsSeries: false,
  hasGridX: false,
  hasGridY: true,
  ranges: [],
  rangeColors: [],
  largestBubble: 50,
};

export interface PlotSeries {
  name: string;
  values: (number | null)[];
  /** Of its colour among those of all series; that in the data without it. */
  place?: number;
}

export interface PlotData {
  /** The name of the first column. */
  category: string;
  isTime: boolean;
  /** Epoch seconds, or texts. */
  categories: (number | string)[];
  /** Seconds of each time bar; 0 where it is not known. */
  span: number;
  series: PlotSeries[];
}

/** Categories that are drawn; what is more is said to be. */
export const MOST_CATEGORIES = 5_000;
/** Series that are drawn. */
export const MOST_SERIES = 100;

/** The column of categories, and those of series. One column alone is a series: its rows are numbered. */
function columnsOf(fields: string[]) {
  const shown = fields
    .map((name, column) => ({ name, column }))
    .filter(({ name }) => !name.startsWith('_') || name === '_time');
  const first = shown.find(({ name }) => name === '_time') ?? shown[0];
  const others = shown.filter(({ column }) => column !== first?.column);
  return { first, others, drawn: others.length === 0 && first ? [first] : others };
}

/** Whether there is no value to draw: only times, as timechart makes them of no events, or only empty columns. */
export function hasNoValues({ fields, rows }: Pick<ResultRows, 'fields' | 'rows'>): boolean {
  const { drawn } = columnsOf(fields);
  return drawn.every(
    ({ name, column }) =>
      name === '_time' || rows.every((row) => cellText(row[column] ?? null) === ''),
  );
}

/** First column: categories; the others: series. Columns that begin with `_` are hidden, but for `_time`. */
export function plotData(results: ResultRows): PlotData {
  const { first, others, drawn } = columnsOf(results.fields);
  const rows = results.rows.slice(0, MOST_CATEGORIES);
  const isTime = first !== undefined && first.column === timeColumnOf(results);
  const spanColumn = results.fields.indexOf('_span');
  const cell = (row: Cell[], column: number) => row[column] ?? null;
  const categories = rows.map((row) => {
    const text = first ? cellText(cell(row, first.column)).replaceAll('\n', ', ') : '';
    return isTime ? (isoTime(text) ?? text) : text;
  });
  const span = spanColumn === -1 ? 0 : (cellNumber(cell(rows[0] ?? [], spanColumn)) ?? 0);
  return {
    category: first?.name ?? '',
    isTime,
    categories: others.length === 0 ? categories.map((_, at) => String(at + 1)) : categories,
    span: span > 0 ? span : spanOf(isTime ? categories : []),
    series: drawn
      .slice(0, MOST_SERIES)
      .map(({ name, column }) => ({
        name,
        values: rows.map((row) => cellNumber(cell(row, column))),
      }))
      // A column of texts is no series.
      .filter(({ values }) => values.some((value) => value !== null) || rows.length === 0),
  };
}

/** The series in the order of the labels of the legend, in which a label without data has a place, too. */
export function inOrder(data: PlotData, labels: readonly string[]): PlotData {
  if (labels.length === 0) return data;
  const names = [...new Set([...labels, ...data.series.map(({ name }) => name)])];
  const series = data.series.map((one) => ({ ...one, place: names.indexOf(one.name) }));
  return { ...data, series: series.sort((a, b) => a.place - b.place) };
}

export const isNumber = (value: number | string): boolean =>
  value !== '' && Number.isFinite(Number(value));

/**
 * Whether the first column of points is x: most of its values are numbers. With two columns it can be nothing else, if any
 * value is a number.
 */
export function hasNumbers({ categories, series }: PlotData): boolean {
  const texts = categories.filter((value) => value !== '' && !isNumber(value)).length;
  const numbers = categories.filter(isNumber).length;
  return texts === 0 || (series.length < 2 ? numbers > 0 : numbers > texts);
}

/** The series that something drawn is of: a slice is of the first, a point of the one that is its height. */
export function seriesAt(data: PlotData, kind: PlotKind, drawn: number): PlotSeries | undefined {
  if (kind === 'pie') return data.series[0];
  if (kind === 'scatter' || kind === 'bubble') return data.series[hasNumbers(data) ? 0 : 1];
  return data.series[drawn];
}

/** The smallest distance between two times. */
function spanOf(categories: (number | string)[]): number {
  let least = Number.POSITIVE_INFINITY;
  for (let at = 1; at < categories.length; at += 1) {
    const gap = Number(categories[at]) - Number(categories[at - 1]);
    if (gap > 0 && gap < least) least = gap;
  }
  return Number.isFinite(least) ? least : 0;
}

/** One sentence for who does not see the chart. */
export function plotSummary(data: PlotData, kind: PlotKind): string {
  const words: Record<PlotKind, string> = {
    line: 'Line chart',
    area: 'Area chart',
    column: 'Column chart',
    bar: 'Bar chart',
    pie: 'Pie chart',
    scatter: 'Scatter chart',
    bubble: 'Bubble chart',
    radialGauge: 'Gauge',
    fillerGauge: 'Gauge',
    markerGauge: 'Gauge',
  };
  const names = data.series.slice(0, 5).map((series) => series.name);
  const more = data.series.length > 5 ? ` and ${data.series.length - 5} more` : '';
  const over = data.isTime ? 'over time' : `by ${data.category}`;
  const count = data.categories.length;
  return `${words[kind]} of ${names.join(', ')}${more} ${over}, ${count} ${count === 1 ? 'value' : 'values'}`;
}

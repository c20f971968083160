/**
 * Splits the rows of a search into the panels of a trellis: by the values of a column, by the series that a
 * split field has made, or by aggregation. Guarantees that every row and series is in one panel, in the
 * order of the results; those beyond the maximum number of panels are counted.
 */

import type { ResultRows } from '../../api/types';
import { cellText, isNumericIn, timeColumnOf } from '../../statistics/table';
import { seriesColor } from '../../visualization/chartOptions';
import { MOST_CATEGORIES, type PlotLook, plotData } from '../../visualization/plot';
import type { Options } from '../model/types';
import { flag } from '../model/values';

/** Panels that are shown; what is more is said to be. */
export const MOST_PANELS = 60;
/** The name that stands for the aggregations of a search instead of a field. */
export const AGGREGATION = '_aggregation';

export type TrellisSize = 'small' | 'medium' | 'large';

export interface TrellisLook {
  size: TrellisSize;
  /** Empty where the author leaves it to the page. */
  splitBy: string;
  isShared: boolean;
}

export interface TrellisPanel {
  /** The value that it is of: its title. */
  value: string;
  results: ResultRows;
  /** The column that the panel is of; null where it is the rows of a value. */
  column: string | null;
  /** The row of the whole result that each row comes from. */
  sources: number[];
}

export interface Trellis {
  /** What the panels are split by; empty for series whose field the results do not name. */
  name: string;
  /** Whether the values are times. */
  isTime: boolean;
  panels: TrellisPanel[];
  /** All there are, also those that are not shown. */
  total: number;
}

/** Null where it is off. */
export function trellisLook(options: Options): TrellisLook | null {
  if (!flag(options.get('trellis.enabled'), false)) return null;
  const size = options.get('trellis.size')?.trim().toLowerCase();
  return {
    size: size === 'small' || size === 'large' ? size : 'medium',
    splitBy: options.get('trellis.splitby')?.trim() ?? '',
    isShared: flag(options.get('trellis.scales.shared'), true),
  };
}

interface Column {
  name: string;
  at: number;
}

const shownColumns = (results: ResultRows): Column[] =>
  results.fields
    .map((name, at) => ({ name, at }))
    .filter(({ name }) => !name.startsWith('_') || name === '_time');

/** `isGrouped`: whether the search has rows by the values of a field, or says nothing of it. */
export function trellisOf(results: ResultRows, splitBy: string, isGrouped = false): Trellis {
  const columns = shownColumns(results);
  const named = columns.find(({ name }) => name === splitBy);
  const split = named ?? (splitBy === '' ? guessed(results, columns) : undefined);
  return split ? byRows(results, split) : bySeries(results, columns, splitBy, isGrouped);
}

/** Without a name: the first column of texts, unless there are several columns of numbers beside it. */
function guessed(results: ResultRows, columns: Column[]): Column | undefined {
  if (timeColumnOf(results) !== -1) return undefined;
  const isText = ({ at }: Column) => !isNumericIn(results, at);
  const numbers = columns.filter((column) => !isText(column));
  const texts = columns.filter(isText);
  return texts.length > 1 || numbers.length <= 1 ? texts[0] : undefined;
}

function byRows(results: ResultRows, split: Column): Trellis {
  const groups = new Map<string, number[]>();
  results.rows.forEach((row, at) => {
    const value = cellText(row[split.at] ?? null);
    const group = groups.get(value);
    if (group) group.push(at);
    else groups.set(value, [at]);
  });
  const without = <T>(cells: readonly T[]): T[] => cells.filter((_, at) => at !== split.at);
  const fields = without(results.fields);
  const panels = [...groups].slice(0, MOST_PANELS).map(([value, sources]) => ({
    value: value.replaceAll('\n', ', ') || '(empty)',
    sources,
    column: null,
    results: { ...results, fields, rows: sources.map((at) => without(results.rows[at] ?? [])) },
  }));
  const isTime = split.at === timeColumnOf(results);
  return { name: split.name, isTime, panels, total: groups.size };
}

/** `count: web` of several aggregations that are split by a field; null for another name. */
function parts(name: string): { aggregation: string; value: string } | null {
  const at = name.indexOf(': ');
  return at > 0 ? { aggregation: name.slice(0, at), value: name.slice(at + 2) } : null;
}

/** Whether the columns are aggregations of everything: one row of numbers. */
const isOneGroup = (results: ResultRows, columns: Column[]): boolean =>
  results.rows.length === 1 &&
  columns.every(({ at }) => isNumericIn(results, at)) &&
  timeColumnOf(results) === -1;

/** The first column stays in every panel, unless it is an aggregation, too; the others are shared out. */
function bySeries(
  results: ResultRows,
  columns: Column[],
  splitBy: string,
  isGrouped: boolean,
): Trellis {
  const times = timeColumnOf(results);
  const time = columns.find(({ at }) => at === times);
  const isFlat = columns.length < 2 || (!isGrouped && isOneGroup(results, columns));
  const first = isFlat ? undefined : (time ?? columns[0]);
  const series = columns.filter((column) => column !== first);
  const isDouble = series.length > 1 && series.every(({ name }) => parts(name) !== null);
  const isByAggregation = splitBy === AGGREGATION;
  const groups = new Map<string, { column: Column; name: string }[]>();
  for (const column of series) {
    const both = isDouble ? parts(column.name) : null;
    const value = both ? (isByAggregation ? both.aggregation : both.value) : column.name;
    const name = both ? (isByAggregation ? both.value : both.aggregation) : column.name;
    const group = groups.get(value);
    if (group) group.push({ column, name });
    else groups.set(value, [{ column, name }]);
  }
  const hidden = results.fields
    .map((name, at) => ({ name, at }))
    .filter(({ name }) => name.startsWith('_') && name !== '_time');
  const kept = first ? [first, ...hidden] : hidden;
  const sources = results.rows.map((_, at) => at);
  const panels = [...groups].slice(0, MOST_PANELS).map(([value, group]) => {
    const all = [...kept.map((column) => ({ column, name: column.name })), ...group];
    return {
      value,
      sources,
      column: group[0]?.name ?? null,
      results: {
        ...results,
        fields: all.map(({ name }) => name),
        rows: results.rows.map((row) => all.map(({ column }) => row[column.at] ?? null)),
      },
    };
  });
  return { name: splitBy, isTime: false, panels, total: groups.size };
}

/** A round number at or beyond a value, away from zero. */
export function roundBound(value: number): number {
  if (value === 0 || !Number.isFinite(value)) return 0;
  const size = 10 ** Math.floor(Math.log10(Math.abs(value)));
  const steps = [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];
  const share = Math.abs(value) / size;
  const step = steps.find((one) => one >= share - 1e-9) ?? 10;
  return Math.sign(value) * step * size;
}

/** The bounds of all values of lines, which do not stand on zero: at ticks, and at zero if it is the next one. */
function lineBounds(panels: readonly TrellisPanel[]): [number, number] | null {
  const all = panels.flatMap((panel) =>
    plotData(panel.results).series.flatMap(({ values }) =>
      values.slice(0, MOST_CATEGORIES).filter((value) => value !== null),
    ),
  );
  const least = all.reduce((one, value) => Math.min(one, value), Number.POSITIVE_INFINITY);
  const most = all.reduce((one, value) => Math.max(one, value), Number.NEGATIVE_INFINITY);
  const step = roundBound((most - least) / 5);
  if (!(least > 0) || step === 0) return null;
  return [Math.floor(least / step) * step, Math.ceil(most / step) * step];
}

/** One scale of values for all panels; what the author has set stays. */
export function sharedLook(look: PlotLook, panels: readonly TrellisPanel[]): PlotLook {
  if (look.stack === 'stacked100' || look.y.isLog) return look;
  if (look.kind === 'line' && !look.y.includesZero) {
    const bounds = lineBounds(panels);
    const { min, max } = look.y;
    const own = bounds && { min: min ?? bounds[0], max: max ?? bounds[1] };
    // Where the author's end is beyond the values, the axis would be upside down.
    if (own && own.min < own.max) return { ...look, y: { ...look.y, ...own } };
  }
  let [least, most] = [0, 0];
  for (const panel of panels) {
    const { series, categories } = plotData(panel.results);
    for (let at = 0; at < Math.min(categories.length, MOST_CATEGORIES); at += 1) {
      let [low, high] = [0, 0];
      for (const { values } of series) {
        const value = values[at] ?? 0;
        if (look.stack !== 'stacked') [low, high] = [Math.min(low, value), Math.max(high, value)];
        else if (value < 0) low += value;
        else high += value;
      }
      [least, most] = [Math.min(least, low), Math.max(most, high)];
    }
  }
  if (least === 0 && most === 0) return look;
  return {
    ...look,
    y: {
      ...look.y,
      min: look.y.min ?? roundBound(least),
      max: look.y.max ?? roundBound(most),
    },
  };
}

/**
 * The series that panels have in common, with the colour that each has in all of them; none where every
 * panel is a series of its own.
 */
export function commonSeries(
  panels: readonly TrellisPanel[],
  look: PlotLook,
  palette: readonly string[],
): [string, string][] {
  const all = panels.map((panel) => plotData(panel.results).series.map(({ name }) => name));
  if (!all.some((names) => names.length > 1)) return [];
  const colors = look.seriesColors.length > 0 ? look.seriesColors : palette;
  const drawn = new Set(all.flat());
  return [...new Set([...look.legendLabels, ...drawn])]
    .map((name, at): [string, string] => [
      name,
      look.fieldColors.get(name) ?? look.seriesColors[at] ?? seriesColor(name, at, colors) ?? '',
    ])
    .filter(([name]) => drawn.has(name));
}

/** What a single value shows: the value, its colour, its trend. */

import type { ResultRows } from '../../api/types';
import { dollars } from '../../app/format';
import { cellNumber, cellText, timeColumnOf } from '../../statistics/table';
import { isoTime } from '../../time/zone';
import type { Options } from '../model/types';
import { colorsOf, flag, numberOf, numbersOf, secondsOf } from '../model/values';

export interface SingleView {
  text: string;
  /** Null for a text. */
  value: number | null;
  unit: string;
  unitBefore: boolean;
  before: string;
  after: string;
  under: string;
  color: string | null;
  isBlock: boolean;
  trend: { text: string; direction: -1 | 0 | 1; color: string | null; interval: string } | null;
  sparkline: number[];
  /** The row that is shown, and its column. */
  row: number;
  column: number;
}

const RANGE_COLORS = ['#53a051', '#0877a6', '#f8be34', '#f1813f', '#dc4e41'];
const CLASS_COLORS: Record<string, string> = {
  low: '#53a051',
  guarded: '#0877a6',
  elevated: '#f8be34',
  high: '#f1813f',
  severe: '#dc4e41',
};
const GOOD = '#3c8a4e';
const BAD = '#c4453a';

/** `panelColumn` is that of a panel of a trellis, whatever the options say. */
export function singleView(
  results: ResultRows,
  options: Options,
  panelColumn: string | null = null,
): SingleView | null {
  const { fields, rows } = results;
  const time = timeColumnOf(results);
  const shown = fields
    .map((name, at) => ({ name, at }))
    .filter(({ name }) => !name.startsWith('_'));
  const wanted = panelColumn ?? options.get('field');
  const isSeries = time !== -1 && rows.length > 1;
  // The name of a split stands in front of the values of a series; elsewhere a text is the value.
  const hasNumbers = (at: number) => rows.some((row) => cellNumber(row[at] ?? null) !== null);
  const column =
    shown.find(({ name }) => name === wanted)?.at ??
    (isSeries ? shown.find(({ at }) => hasNumbers(at))?.at : undefined) ??
    shown[0]?.at;
  if (column === undefined || rows.length === 0) return null;
  // Of a series the last value that is there.
  const row = isSeries ? rows.findLastIndex((one) => cellText(one[column] ?? null) !== '') : 0;
  const cell = rows[row]?.[column] ?? null;
  const value = cellNumber(cell);
  const trend = isSeries ? trendOf(results, options, column, row, time) : null;
  const precision = /^0(?:\.(0+))?$/.exec(options.get('numberprecision') ?? '0')?.[1]?.length;
  const color = colorOfValue(results, options, value, trend?.change ?? null, row);
  return {
    text: value === null ? cellText(cell) : numberText(value, precision ?? 0, options),
    value,
    unit: options.get('unit') ?? '',
    unitBefore: options.get('unitposition')?.toLowerCase() === 'before',
    before: options.get('beforelabel') ?? '',
    after: options.get('afterlabel') ?? '',
    under: options.get('underlabel') ?? '',
    color,
    isBlock: isOfBlock(options),
    trend: trend && flag(options.get('showtrendindicator'), true) ? trend.shown : null,
    sparkline:
      isSeries && flag(options.get('showsparkline'), true)
        ? rows.slice(0, row + 1).map((one) => cellNumber(one[column] ?? null) ?? 0)
        : [],
    row,
    column,
  };
}

/** Shares of the size of the font: of a bold digit or capital, and of a separator of digits. */
const WIDE = 0.8;
const NARROW = 0.4;

/** Of the font: large, and as wide as its place at most. A unit is smaller, and has margins. */
export function fittingSize({ text, unit }: Pick<SingleView, 'text' | 'unit'>): string {
  const separators = text.match(/[.,:\s]/g)?.length ?? 0;
  const own = WIDE * (text.length - separators) + NARROW * separators;
  const whole = own + (unit === '' ? 0 : 0.3 + 0.6 * WIDE * unit.length);
  return `clamp(10px, ${(100 / Math.max(WIDE, whole)).toFixed(1)}cqi, 38px)`;
}

function numberText(value: number, precision: number, options: Options): string {
  if (flag(options.get('karst.money'), false)) return dollars(value);
  return new Intl.NumberFormat('en-US', {
    minimumFractionDigits: precision,
    maximumFractionDigits: precision,
    useGrouping: flag(options.get('usethousandseparators'), true),
  }).format(value);
}

/** n bounds make n+1 colours. */
function colorOfValue(
  results: ResultRows,
  options: Options,
  value: number | null,
  change: number | null,
  row: number,
): string | null {
  const usesColors = flag(options.get('usecolors'), false);
  // `rangemap` writes its class into `range`.
  const at = results.fields.indexOf(options.get('classfield') || (usesColors ? '' : 'range'));
  if (at !== -1 || options.get('classfield')) {
    return CLASS_COLORS[cellText(results.rows[row]?.[at] ?? null).toLowerCase()] ?? null;
  }
  if (!usesColors) return null;
  if (isByTrend(options)) {
    // The trend has the colour; a block has it, too, as there it is what is coloured.
    return change === null || !isOfBlock(options) ? null : trendColor(change, options);
  }
  if (value === null) return null;
  const bounds = numbersOf(options.get('rangevalues') ?? '[0,30,70,100]');
  const given = colorsOf(options.get('rangecolors'));
  const colors = given.length > 0 ? given : RANGE_COLORS;
  const range = bounds.findIndex((bound) => value <= bound);
  return colors[range === -1 ? bounds.length : range] ?? colors.at(-1) ?? null;
}

const isOfBlock = (options: Options) => options.get('colormode')?.toLowerCase() === 'block';

/** Whether the author says what a rise means: elsewhere a trend has no colour. */
const isByTrend = (options: Options) =>
  flag(options.get('usecolors'), false) && options.get('colorby')?.toLowerCase() === 'trend';

function trendColor(change: number, options: Options): string | null {
  if (change === 0) return null;
  const inverse = options.get('trendcolorinterpretation')?.toLowerCase() === 'inverse';
  return change > 0 === inverse ? BAD : GOOD;
}

function trendOf(results: ResultRows, options: Options, column: number, row: number, time: number) {
  const valueAt = (at: number) => cellNumber(results.rows[at]?.[column] ?? null);
  const now = valueAt(row);
  const interval = options.get('trendinterval') ?? 'auto';
  const seconds = secondsOf(interval.replace(/^-/, ''));
  let at = row - 1;
  if (seconds !== null) {
    const momentOf = (index: number) => isoTime(cellText(results.rows[index]?.[time] ?? null)) ?? 0;
    const wanted = momentOf(row) - seconds;
    at = results.rows.findLastIndex((_, index) => momentOf(index) <= wanted);
  }
  const before = at >= 0 ? valueAt(at) : null;
  if (now === null || before === null) return null;
  const change = now - before;
  const isPercent = options.get('trenddisplaymode')?.toLowerCase() === 'percent';
  const precision = numberOf(options.get('numberprecision')?.split('.')[1]?.length.toString()) ?? 0;
  const text = isPercent
    ? before === 0
      ? 'N/A'
      : `${Math.abs((100 * change) / before).toFixed(1)} %`
    : numberText(Math.abs(change), precision, options);
  const direction: -1 | 0 | 1 = change > 0 ? 1 : change < 0 ? -1 : 0;
  return {
    change,
    shown: {
      text,
      direction,
      color: isByTrend(options) ? trendColor(change, options) : null,
      interval: seconds === null ? '' : interval,
    },
  };
}

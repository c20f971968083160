/** Colours and numbers of table cells, from `<format>`. */

import { dollars } from '../../app/format';
import { type Cell, cellNumber, cellText, type Row } from '../../statistics/table';
import type { CellFormat, ColorPalette, ColorScale } from '../model/types';
import { colorOf, flag, numberOf } from '../model/values';
import { evaluate, toText } from '../runtime/expression';

/** Colours of lists that columns share. */
const SHARED = [
  '#65a637',
  '#6db7c6',
  '#f7bc38',
  '#f58f39',
  '#d93f3c',
  '#708794',
  '#b5a0c8',
  '#a2cc3e',
  '#3863a0',
  '#87bb65',
  '#c7ccd4',
  '#e6b5a3',
  '#99c1da',
  '#d6d3bb',
];

export type Colorer = (cell: Cell) => string | null;

export function formatsOf(
  formats: readonly CellFormat[],
  type: CellFormat['type'],
  column: string,
): CellFormat | null {
  const own = formats.filter((format) => format.type === type && format.field === column);
  return (
    own.at(-1) ?? formats.find((format) => format.type === type && format.field === null) ?? null
  );
}

/** What colours the cells of a column; null for none. */
export function colorer(format: CellFormat, rows: readonly Row[], column: number): Colorer | null {
  const { palette, scale } = format;
  switch (palette?.type) {
    case 'minMidMax':
      return gradient(palette, scale, numbersIn(rows, column));
    case 'map':
      return (cell) => palette.colors.get(cellText(cell)) ?? null;
    case 'list':
    case 'sharedList': {
      const colors = palette.type === 'list' ? palette.colors : SHARED;
      return scale?.type === 'threshold'
        ? threshold(colors, scale.values)
        : byCategory(colors, scale?.values ?? [], rows, column);
    }
    case 'expression':
      return (cell) => {
        try {
          const lookup = (name: string) => (name === 'value' ? cellText(cell) : undefined);
          return colorOf(toText(evaluate(palette.expression, lookup)));
        } catch {
          return null;
        }
      };
    default:
      return null;
  }
}

function numbersIn(rows: readonly Row[], column: number): number[] {
  return rows
    .map((row) => cellNumber(row[column] ?? null))
    .filter((value): value is number => value !== null);
}

function threshold(colors: string[], values: string[]): Colorer {
  const bounds = values.map(Number);
  return (cell) => {
    const value = cellNumber(cell);
    if (value === null) return null;
    const at = bounds.findIndex((bound) => value < bound);
    return colors[at === -1 ? bounds.length : at] ?? colors.at(-1) ?? null;
  };
}

/** The same colour for the same text: by a list, or as texts occur. */
function byCategory(
  colors: string[],
  known: string[],
  rows: readonly Row[],
  column: number,
): Colorer {
  const places = new Map<string, number>(known.map((value, at) => [value, at]));
  for (const row of rows) {
    const text = cellText(row[column] ?? null);
    if (!places.has(text)) places.set(text, places.size);
  }
  return (cell) => {
    const text = cellText(cell);
    const at = places.get(text);
    return text === '' || at === undefined ? null : (colors[at % colors.length] ?? null);
  };
}

function bound(
  type: string | null,
  value: string | null,
  sorted: number[],
  otherwise: number,
): number {
  const number = numberOf(value);
  if (number === null) return otherwise;
  if (type === 'percent') {
    const [least = 0, most = 0] = [sorted[0], sorted.at(-1)];
    return least + ((most - least) * number) / 100;
  }
  if (type === 'percentile') {
    return (
      sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * number) / 100))] ?? otherwise
    );
  }
  return type === 'number' || type === null ? number : otherwise;
}

function gradient(
  palette: ColorPalette & { type: 'minMidMax' },
  scale: ColorScale | null,
  values: number[],
): Colorer {
  const sorted = [...values].sort((a, b) => a - b);
  const least = bound(scale?.minType ?? null, scale?.minValue ?? null, sorted, sorted[0] ?? 0);
  const most = bound(scale?.maxType ?? null, scale?.maxValue ?? null, sorted, sorted.at(-1) ?? 0);
  const middle = bound(scale?.midType ?? null, scale?.midValue ?? null, sorted, (least + most) / 2);
  const { min, mid, max } = palette;
  return (cell) => {
    const value = cellNumber(cell);
    if (value === null) return null;
    if (mid === null) return mixed(min, max, share(value, least, most));
    return value < middle
      ? mixed(min, mid, share(value, least, middle))
      : mixed(mid, max, share(value, middle, most));
  };
}

function share(value: number, from: number, to: number): number {
  return to === from ? 1 : Math.min(1, Math.max(0, (value - from) / (to - from)));
}

const channels = (color: string): number[] =>
  [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));

export function mixed(from: string, to: string, part: number): string {
  if (!from.startsWith('#') || !to.startsWith('#')) return part < 0.5 ? from : to;
  const [a, b] = [channels(from), channels(to)];
  const mix = a.map((value, at) => Math.round(value + ((b[at] ?? value) - value) * part));
  return `#${mix.map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}

function luminance(color: string): number {
  const [r = 0, g = 0, b = 0] = channels(color).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

const isHex = (color: string): boolean => /^#[0-9a-f]{6}$/i.test(color);

/** How well one colour is read on another: 1 to 21. */
export function contrast(a: string, b: string): number {
  const [light = 0, dark = 0] = [luminance(a), luminance(b)].sort((x, y) => y - x);
  return (light + 0.05) / (dark + 0.05);
}

/** Black or white, whichever is read better on a colour. */
export function readableOn(color: string): string {
  if (!isHex(color)) return 'inherit';
  return luminance(color) > 0.179 ? '#000000' : '#ffffff';
}

/** A colour of an author as text: as dark, or as light, as it has to be to be read. */
export function legible(color: string, background: string, least: number): string {
  if (!isHex(color)) return color;
  const away = luminance(background) > 0.179 ? '#000000' : '#ffffff';
  for (let part = 0; part < 1; part += 0.05) {
    const mix = mixed(color, away, part);
    if (contrast(mix, background) >= least) return mix;
  }
  return away;
}

/** A number as its format says. */
export function formattedNumber(cell: Cell, format: CellFormat): string {
  const value = cellNumber(cell);
  if (value === null) return cellText(cell);
  if (flag(format.options.get('karst.money'), false)) return dollars(value);
  const precision = Math.min(20, Math.max(0, numberOf(format.options.get('precision')) ?? 2));
  const grouping = flag(format.options.get('usethousandseparators'), true);
  const text = new Intl.NumberFormat('en-US', {
    minimumFractionDigits: precision,
    maximumFractionDigits: precision,
    useGrouping: grouping,
  }).format(value);
  const unit = format.options.get('unit') ?? '';
  if (unit === '') return text;
  return format.options.get('unitposition')?.toLowerCase() === 'before'
    ? `${unit}${text}`
    : `${text} ${unit}`;
}

/** Heat of all numbers of a table, or its highest and lowest. */
export function overlay(
  mode: string,
  rows: readonly Row[],
  columns: readonly number[],
): Colorer | null {
  const all = columns.flatMap((column) => numbersIn(rows, column));
  if (all.length === 0) return null;
  const [least, most] = [Math.min(...all), Math.max(...all)];
  if (mode === 'heatmap') {
    return (cell) => {
      const value = cellNumber(cell);
      return value === null ? null : mixed('#ffffff', '#e2725b', share(value, least, most));
    };
  }
  if (mode === 'highlow') {
    return (cell) => {
      const value = cellNumber(cell);
      if (value === most) return '#e2725b';
      return value === least ? '#7fb6e6' : null;
    };
  }
  return null;
}

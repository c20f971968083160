/** Values of regions, and the colours that they have. */

import type { ResultRows } from '../../api/types';
import { cellNumber, cellText, isNumericIn } from '../../statistics/table';

export type ColorMode = 'auto' | 'sequential' | 'divergent' | 'categorical';

export interface RegionRow {
  /** As it is written in the results. */
  name: string;
  row: number;
  value: number | null;
  text: string;
  /** GeoJSON of the shape, from the command geom; empty where the results have none. */
  shape: string;
}

export interface RegionData {
  /** The fields of names and values. */
  field: string;
  valueField: string;
  rows: RegionRow[];
}

/** Null where there is no column of names with a column of values. `field`: the one that geom was told. */
export function regionsOf(results: ResultRows, field: string | null): RegionData | null {
  const columns = results.fields
    .map((name, at) => ({ name, at }))
    .filter(({ name }) => !name.startsWith('_'));
  const shape = columns.find(({ name }) => name === 'geom');
  const others = columns.filter((column) => column !== shape);
  const name =
    others.find((column) => column.name === (field ?? 'featureId')) ??
    others.find(({ at }) => !isNumericIn(results, at));
  if (!name) return null;
  const rest = others.filter((column) => column !== name);
  const value = rest.find(({ at }) => isNumericIn(results, at)) ?? rest[0];
  if (!value) return null;
  return {
    field: name.name,
    valueField: value.name,
    rows: results.rows.map((cells, row) => ({
      name: cellText(cells[name.at] ?? null),
      row,
      value: cellNumber(cells[value.at] ?? null),
      text: cellText(cells[value.at] ?? null),
      shape: shape ? cellText(cells[shape.at] ?? null) : '',
    })),
  };
}

export interface ChoroplethLook {
  mode: ColorMode;
  bins: number;
  minimumColor: string;
  maximumColor: string;
  neutralPoint: number;
  /** Of neutral values: the surface of the page. */
  neutralColor: string;
  categoryColors: readonly string[];
  fieldColors: ReadonlyMap<string, string>;
}

export interface Bin {
  label: string;
  color: string;
  /** Whether a row belongs to it. */
  holds: (row: RegionRow) => boolean;
}

const channels = (color: string): number[] => {
  const hex = color.replace('#', '');
  return [0, 2, 4].map((at) => Number.parseInt(hex.slice(at, at + 2), 16) || 0);
};

function mixed(from: string, to: string, share: number): string {
  const [a, b] = [channels(from), channels(to)];
  const part = (at: number) => Math.round((a[at] ?? 0) + ((b[at] ?? 0) - (a[at] ?? 0)) * share);
  return `#${[0, 1, 2].map((at) => part(at).toString(16).padStart(2, '0')).join('')}`;
}

const short = (value: number): string =>
  new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 }).format(value);

/** Classes of values with their colours, from the lowest. */
export function binsOf(data: RegionData, look: ChoroplethLook): Bin[] {
  const numbers = data.rows.flatMap(({ value }) => (value === null ? [] : [value]));
  if (look.mode === 'categorical' || numbers.length === 0) {
    const values = [...new Set(data.rows.map(({ text }) => text).filter(Boolean))].slice(0, 20);
    return values.map((text, at) => ({
      label: text,
      color:
        look.fieldColors.get(text) ?? look.categoryColors[at % look.categoryColors.length] ?? '',
      holds: (row) => row.text === text,
    }));
  }
  const least = numbers.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
  const most = numbers.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
  const bins = Math.max(2, Math.min(12, Math.round(look.bins)));
  const isDivergent =
    look.mode === 'divergent' ||
    (look.mode === 'auto' && least < look.neutralPoint && most > look.neutralPoint);
  // Both sides of the neutral point have the same width.
  const reach = Math.max(Math.abs(least - look.neutralPoint), Math.abs(most - look.neutralPoint));
  const [low, high] = isDivergent
    ? [look.neutralPoint - reach, look.neutralPoint + reach]
    : [least, most];
  if (low === high) {
    return [{ label: short(low), color: look.maximumColor, holds: (row) => row.value !== null }];
  }
  const width = (high - low) / bins;
  return Array.from({ length: bins }, (_, at) => {
    const [from, to] = [low + at * width, at === bins - 1 ? high : low + (at + 1) * width];
    // The lowest class is told apart from a region without a value.
    const share = 0.3 + (0.7 * at) / (bins - 1);
    const middle = (2 * (at + 0.5)) / bins - 1;
    const color = isDivergent
      ? mixed(
          look.neutralColor,
          middle < 0 ? look.minimumColor : look.maximumColor,
          Math.abs(middle),
        )
      : mixed(look.neutralColor, look.maximumColor, share);
    return {
      label: `${short(from)} – ${short(to)}`,
      color,
      holds: ({ value }: RegionRow) =>
        value !== null && value >= from && (at === bins - 1 ? value <= to : value < to),
    };
  });
}

/** From a table to what a chart shows: the category axis, the series, the fitting kind. */

import {
  type Cell,
  cellNumber,
  cellText,
  isNumericColumn,
  type Row,
  type Table,
} from '../statistics/table';
import { isoTime } from '../time/zone';

export type ChartKind = 'line' | 'area' | 'column' | 'bar' | 'pie' | 'single';

export const CHART_KINDS: readonly { kind: ChartKind; label: string }[] = [
  { kind: 'column', label: 'Column' },
  { kind: 'line', label: 'Line' },
  { kind: 'area', label: 'Area' },
  { kind: 'bar', label: 'Bar' },
  { kind: 'pie', label: 'Pie' },
  { kind: 'single', label: 'Single value' },
];

export interface Series {
  name: string;
  values: (number | null)[];
}

export interface ChartModel {
  /** The name of the category column; empty when the table has only numbers. */
  category: string;
  isTime: boolean;
  /** Epoch milliseconds for a time axis, else the text of each category. */
  categories: (number | string)[];
  series: Series[];
}

/** Categories beyond these would be too thin to read. */
export const CATEGORY_LIMIT = 2000;

export function chartModel(table: Table): ChartModel {
  const rows = table.rows.slice(0, CATEGORY_LIMIT);
  const category = categoryColumn(table);
  const isTime = category !== -1 && category === table.time;
  // Beyond the rows that are drawn, texts do not matter.
  const isNumeric = (column: number) => table.numeric[column] || isNumericColumn(rows, column);
  const series = table.columns
    .map((name, column) => ({ name, column }))
    .filter(({ column }) => column !== category && isNumeric(column))
    .map(({ name, column }) => ({
      name,
      values: rows.map((row) => cellNumber(row[column] ?? null)),
    }));
  return {
    category: table.columns[category] ?? '',
    isTime,
    categories: rows.map((row, index) => categoryOf(row, category, index, isTime)),
    series,
  };
}

function categoryColumn(table: Table): number {
  const time = table.columns.indexOf('_time');
  if (time !== -1) return time;
  const text = table.numeric.indexOf(false);
  if (text !== -1) return text;
  // Only numbers: the first is what the others are by, unless it is alone.
  return table.columns.length > 1 && table.rows.length > 1 ? 0 : -1;
}

function categoryOf(row: Row, column: number, index: number, isTime: boolean): number | string {
  const cell: Cell = column === -1 ? String(index + 1) : (row[column] ?? null);
  if (!isTime) return cellText(cell).replaceAll('\n', ', ') || '(empty)';
  const epoch = isoTime(cellText(cell));
  return epoch === null ? index : epoch * 1000;
}

/** The cell of the table that a place in the chart shows; null for none. */
export function clickedCell(
  model: ChartModel,
  table: Pick<Table, 'columns' | 'rows'>,
  category: number,
  series: number,
): { row: Row; column: number } | null {
  const row = table.rows[category];
  const name = model.series[series]?.name;
  return row && name !== undefined ? { row, column: table.columns.indexOf(name) } : null;
}

export function defaultKind(model: ChartModel): ChartKind {
  const { categories, series, isTime } = model;
  if (categories.length === 1 && series.length === 1 && !isTime) return 'single';
  if (isTime) return series.length > 1 || categories.length > 100 ? 'line' : 'column';
  const longest = Math.max(0, ...categories.map((category) => String(category).length));
  return categories.length > 12 || longest > 14 ? 'bar' : 'column';
}

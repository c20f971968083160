/** Rows of a report as a table: which columns are for people, how cells sort and align. */

import { lazyList } from '../api/lazyList';
import type { ColumnLengths, FieldValue, ResultRows } from '../api/types';
import { isoTime } from '../time/zone';

export type Cell = FieldValue | null;
export type Row = Cell[];

export interface Table {
  columns: string[];
  rows: Row[];
  /** Of each column, whether its cells are numbers. */
  numeric: boolean[];
  /** The column `_time` of times; -1 if there is none. */
  time: number;
  /** Seconds of a row of `timechart`, in the hidden column `_span`; 0 if there is none or rows differ. */
  span: number;
  /** The cells of a column. */
  cells: (column: number) => readonly Cell[];
  lengths: (column: number) => ColumnLengths;
}

/** Leaves out internal columns (`_span` and the like), except time and raw text. */
export function visibleTable(results: ResultRows): Table {
  const kept = results.fields
    .map((name, index) => ({ name, index }))
    .filter(({ name }) => !name.startsWith('_') || name === '_time' || name === '_raw');
  const isWhole = kept.length === results.fields.length;
  const time = timeColumnOf(results);
  const rowOf = (at: number) => kept.map(({ index }) => results.rows[at]?.[index] ?? null);
  return {
    columns: kept.map(({ name }) => name),
    rows: isWhole ? results.rows : lazyList(results.rows.length, rowOf),
    numeric: kept.map(({ index }) => isNumericIn(results, index)),
    span: spanOf(results),
    time: kept.findIndex(({ index }) => index === time),
    cells: (column) => cellsIn(results, kept[column]?.index ?? -1),
    lengths: (column) => lengthsIn(results, kept[column]?.index ?? -1),
  };
}

/** Whether a column of a result is one of numbers. */
export const isNumericIn = (results: ResultRows, column: number): boolean =>
  results.byColumn?.isNumeric(column) ?? isNumericColumn(results.rows, column);

export const cellsIn = (results: ResultRows, column: number): readonly Cell[] =>
  results.byColumn?.cells(column) ?? results.rows.map((row) => row[column] ?? null);

/** The column `_time` if each of its cells is a time or empty; -1 if `eval` has made other texts of them. */
export function timeColumnOf(results: ResultRows): number {
  const column = results.fields.indexOf('_time');
  const isTime = (cell: Cell) => cell === null || cell === '' || isoTime(cellText(cell)) !== null;
  return column !== -1 && cellsIn(results, column).every(isTime) ? column : -1;
}

function spanOf(results: ResultRows): number {
  const column = results.fields.indexOf('_span');
  if (column === -1) return 0;
  const spans = new Set(cellsIn(results, column).map(cellNumber));
  const [span] = spans;
  return spans.size === 1 ? (span ?? 0) : 0;
}

export function cellText(cell: Cell): string {
  if (cell === null) return '';
  return Array.isArray(cell) ? cell.join('\n') : cell;
}

/** The number a cell is, or null for anything else. */
export function cellNumber(cell: Cell): number | null {
  if (typeof cell !== 'string' || !/^\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*$/i.test(cell)) {
    return null;
  }
  const number = Number(cell);
  return Number.isFinite(number) ? number : null;
}

/** Whether every cell with anything in it is a number, and at least one is. */
export function isNumericColumn(rows: Row[], column: number): boolean {
  let seen = false;
  for (const row of rows) {
    const cell = row[column] ?? null;
    if (cell === null || cell === '') continue;
    if (cellNumber(cell) === null) return false;
    seen = true;
  }
  return seen;
}

export interface Sorting {
  column: number;
  descending: boolean;
}

/**
 * Rows by the cells of one column: numbers before text, by value; text by the alphabet; empty cells last in both
 * directions.
 */
export function sortedRows(
  rows: Row[],
  sorting: Sorting | null,
  cells: readonly Cell[] | null = null,
): Row[] {
  if (!sorting) return rows;
  const { column, descending } = sorting;
  const direction = descending ? -1 : 1;
  const keys = (cells ?? rows.map((row) => row[column] ?? null)).map(keyOf);
  const order = Uint32Array.from(keys.keys());
  order.sort((a, b) => compareKeys(keys[a] ?? NO_KEY, keys[b] ?? NO_KEY, direction) || a - b);
  return lazyList(rows.length, (at) => rows[order[at] ?? 0] ?? []);
}

interface Key {
  text: string;
  number: number | null;
}

const NO_KEY: Key = { text: '', number: null };

const keyOf = (cell: Cell): Key => ({ text: cellText(cell), number: cellNumber(cell) });

function compareKeys(a: Key, b: Key, direction: 1 | -1): number {
  if (a.text === '' || b.text === '') return Number(a.text === '') - Number(b.text === '');
  if (a.number !== null && b.number !== null) return direction * (a.number - b.number);
  if (a.number !== null || b.number !== null) return direction * (a.number !== null ? -1 : 1);
  return direction * a.text.localeCompare(b.text);
}

/** Clicking a header: numbers largest first, text from A, then the other way, then as it came. */
export function nextSorting(now: Sorting | null, column: number, numeric: boolean): Sorting | null {
  if (now?.column !== column) return { column, descending: numeric };
  return now.descending === numeric ? { column, descending: !numeric } : null;
}

/** Rows that are looked at for the widths of columns. */
const MEASURED_ROWS = 200;
const NARROWEST = 6;
const WIDEST = 60;

/** How long the cells of a column are; without the help of a worker, by a look at the first rows. */
function lengthsIn(results: ResultRows, column: number): ColumnLengths {
  if (results.byColumn) return results.byColumn.lengths(column);
  const lengths = { first: 0, all: Number.POSITIVE_INFINITY, lines: Number.POSITIVE_INFINITY };
  for (const row of results.rows.slice(0, MEASURED_ROWS)) {
    for (const line of cellText(row[column] ?? null).split('\n')) {
      lengths.first = Math.max(lengths.first, line.length);
    }
  }
  return lengths;
}

/** How a table is laid out before it is drawn. */
export interface Layout {
  /** Of each column, in characters. */
  widths: number[];
  /** Whether every cell is one line in its column: rows are as high as they are said to be. */
  isEven: boolean;
}

/**
 * Widths of columns from the names and the first rows: a table of which only a part is drawn must not change
 * its columns while it scrolls. `timeLength`: characters of a time as it is shown.
 */
export function layoutOf(
  table: Pick<Table, 'columns' | 'lengths' | 'time'>,
  timeLength: number,
): Layout {
  let isEven = true;
  const widths = table.columns.map((name, column) => {
    const { first, all, lines } = table.lengths(column);
    const isTime = column === table.time;
    const widest = Math.max(name.length + 2, isTime ? timeLength : first);
    const width = Math.min(WIDEST, Math.max(NARROWEST, widest));
    // Times are as long as each other.
    if (lines > 1 || (!isTime && all > width)) isEven = false;
    return width;
  });
  return { widths, isEven };
}

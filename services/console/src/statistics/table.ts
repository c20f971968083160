/** Rows of a report as a table: which columns are for people, how cells sort and align. */

import type { FieldValue, ResultRows } from '../api/types';

export type Cell = FieldValue | null;
export type Row = Cell[];

export interface Table {
  columns: string[];
  rows: Row[];
}

/** Leaves out internal columns (`_span` and the like), except time and raw text. */
export function visibleTable(results: ResultRows): Table {
  const kept = results.fields
    .map((name, index) => ({ name, index }))
    .filter(({ name }) => !name.startsWith('_') || name === '_time' || name === '_raw');
  return {
    columns: kept.map(({ name }) => name),
    rows: results.rows.map((row) => kept.map(({ index }) => row[index] ?? null)),
  };
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

/** Numbers before text, by value; text by the alphabet; empty cells last in both directions. */
export function sortedRows(rows: Row[], sorting: Sorting | null): Row[] {
  if (!sorting) return rows;
  const { column, descending } = sorting;
  const direction = descending ? -1 : 1;
  return [...rows].sort((a, b) => compareCells(a[column] ?? null, b[column] ?? null, direction));
}

function compareCells(a: Cell, b: Cell, direction: 1 | -1): number {
  const aText = cellText(a);
  const bText = cellText(b);
  if (aText === '' || bText === '') return Number(aText === '') - Number(bText === '');
  const aNumber = cellNumber(a);
  const bNumber = cellNumber(b);
  if (aNumber !== null && bNumber !== null) return direction * (aNumber - bNumber);
  if (aNumber !== null || bNumber !== null) return direction * (aNumber !== null ? -1 : 1);
  return direction * aText.localeCompare(bText);
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

/**
 * Widths of columns in characters, from the names and the first rows: a table of which only a part is drawn
 * must not change its columns while it scrolls.
 */
export function columnWidths(
  table: Table,
  textOf: (cell: Cell, column: number) => string,
): number[] {
  return table.columns.map((name, column) => {
    let widest = name.length + 2;
    for (const row of table.rows.slice(0, MEASURED_ROWS)) {
      for (const line of textOf(row[column] ?? null, column).split('\n')) {
        widest = Math.max(widest, Math.min(WIDEST, line.length));
      }
    }
    return Math.min(WIDEST, Math.max(NARROWEST, widest));
  });
}

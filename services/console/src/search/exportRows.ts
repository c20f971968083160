/** Result rows as files. Fields are those of all rows, in the order in which they first occur. */

import type { Cell, Row } from '../statistics/table';

export interface RowPage {
  fields: string[];
  rows: Row[];
}

/** One table out of pages whose fields may differ. */
export function mergedPages(pages: RowPage[]): RowPage {
  const fields = [...new Set(pages.flatMap((page) => page.fields))];
  const rows = pages.flatMap((page) => {
    const places = fields.map((field) => page.fields.indexOf(field));
    return page.rows.map((row) => places.map((place) => row[place] ?? null));
  });
  return { fields, rows };
}

/**
 * RFC 4180; the values of a multivalue cell stand on lines of their own. A cell that a spreadsheet would
 * take for a formula gets an apostrophe in front: events are written by strangers.
 */
export const csvOf = ({ fields, rows }: RowPage): string => csvLines([fields, ...rows]);

/** Lines of CSV without a header. */
export const csvLines = (rows: Row[]): string =>
  rows.map((row) => `${row.map(csvCell).join(',')}\r\n`).join('');

function csvCell(cell: Cell): string {
  const text = withoutFormula(Array.isArray(cell) ? cell.join('\n') : (cell ?? ''));
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function withoutFormula(text: string): string {
  const isNumber = text.trim() !== '' && Number.isFinite(Number(text));
  return /^[=+\-@\t\r]/.test(text) && !isNumber ? `'${text}` : text;
}

/** A list of objects, one to a line; fields without a value are left out. */
export function jsonOf({ fields, rows }: RowPage): string {
  const objects = rows.map((row) =>
    JSON.stringify(
      Object.fromEntries(
        fields.flatMap((field, place) => {
          const cell = row[place] ?? null;
          return cell === null ? [] : [[field, cell]];
        }),
      ),
    ),
  );
  return `[\n${objects.join(',\n')}\n]\n`;
}

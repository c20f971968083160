/** Rows of a CSV text: quoted cells may hold commas, line breaks and doubled quotes. */

export interface CsvRow {
  /** Of its first sign, from 1. */
  line: number;
  cells: string[];
}

export interface Csv {
  /** Without empty lines. */
  rows: CsvRow[];
  /** The line of a quote that is never closed. */
  unclosed: number | null;
}

export function readCsv(text: string): Csv {
  const rows: CsvRow[] = [];
  let cells: string[] = [];
  let cell = '';
  let isQuoted = false;
  let line = 1;
  let first = 1;
  let quote = 1;
  const endRow = () => {
    cells.push(cell);
    cell = '';
    if (cells.length > 1 || cells[0] !== '') rows.push({ line: first, cells });
    cells = [];
  };
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at] as string;
    if (sign === '\n') line += 1;
    if (isQuoted) {
      if (sign !== '"') cell += sign;
      else if (text[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else isQuoted = false;
    } else if (sign === '"' && cell === '') {
      isQuoted = true;
      quote = line;
    } else if (sign === ',') {
      cells.push(cell);
      cell = '';
    } else if (sign === '\n') {
      endRow();
      first = line;
    } else if (sign !== '\r') cell += sign;
  }
  if (cell !== '' || cells.length > 0) endRow();
  return { rows, unclosed: isQuoted ? quote : null };
}

export const csvRows = (text: string): string[][] => readCsv(text).rows.map(({ cells }) => cells);

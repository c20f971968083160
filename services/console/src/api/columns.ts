/**
 * Rows of a result by column, as a worker hands them over: the texts of a column are bytes, with the place at
 * which each ends. Bytes move to another thread without a copy, where two million texts do not; a text is made
 * of them when somebody looks at it.
 */

import { asObject, decodeMessages } from './decode';
import { lazyList } from './lazyList';
import type { ColumnLengths, FieldValue, ResultRows, ServerMessage } from './types';

type Cell = FieldValue | null;

export interface ColumnText {
  /** UTF-8. */
  bytes: Uint8Array;
  /** Of each cell, the end of its bytes. */
  ends: Uint32Array;
  /** Cells that are no texts; null where all are texts. */
  kinds: Uint8Array | null;
  /** Whether every cell with anything in it is a number, and at least one is. */
  isNumeric: boolean;
  lengths: ColumnLengths;
}

export interface Columns {
  fields: string[];
  count: number;
  columns: ColumnText[];
  preview: boolean;
  messages: ServerMessage[];
}

const TEXT = 0;
const NOTHING = 1;
const LIST = 2;

const NUMBER = /^\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*$/i;

const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const asText = (value: unknown): string =>
  typeof value === 'string'
    ? value
    : value === null || value === undefined
      ? ''
      : typeof value === 'object'
        ? JSON.stringify(value)
        : String(value);

/** From the answer of `json_rows`. Lenient, as all decoders are. */
export function columnsOf(body: unknown): Columns {
  const root = asObject(body);
  const fields = asList(root.fields).map((field) =>
    typeof field === 'string' ? field : asText(asObject(field).name),
  );
  const rows = asList(root.rows).map(asList);
  return {
    fields,
    count: rows.length,
    columns: fields.map((_, at) => columnOf(rows, at)),
    preview: root.preview === true || root.preview === 1 || root.preview === '1',
    messages: decodeMessages(root.messages),
  };
}

/** Rows that stand for all where the width of a column is chosen. */
const FIRST_ROWS = 200;

/** What a person sees of a cell. */
const linesOf = (cell: unknown, text: string): string[] =>
  Array.isArray(cell) ? cell.flatMap((one) => asText(one).split('\n')) : text.split('\n');

function columnOf(rows: unknown[][], at: number): ColumnText {
  const parts: string[] = [];
  const lengths: ColumnLengths = { first: 0, all: 0, lines: 1 };
  let kinds: Uint8Array | null = null;
  let isNumeric = true;
  let isSeen = false;
  for (const [index, row] of rows.entries()) {
    const cell = row[at];
    const kind = cell === null || cell === undefined ? NOTHING : Array.isArray(cell) ? LIST : TEXT;
    const text =
      kind === NOTHING ? '' : Array.isArray(cell) ? JSON.stringify(cell.map(asText)) : asText(cell);
    if (kind !== TEXT) {
      kinds ??= new Uint8Array(rows.length);
      kinds[index] = kind;
    }
    if (kind === LIST || (text !== '' && isNumeric && !NUMBER.test(text))) isNumeric = false;
    isSeen ||= text !== '';
    parts.push(text);
    if (kind === LIST || text.length > lengths.all || text.includes('\n')) {
      const lines = linesOf(cell, text);
      for (const line of lines) lengths.all = Math.max(lengths.all, line.length);
      lengths.lines = Math.max(lengths.lines, lines.length);
    }
    if (index < FIRST_ROWS) lengths.first = lengths.all;
  }
  const { bytes, ends } = encoded(parts);
  return { bytes, ends, kinds, isNumeric: isNumeric && isSeen, lengths };
}

function encoded(parts: readonly string[]): Pick<ColumnText, 'bytes' | 'ends'> {
  const encoder = new TextEncoder();
  const whole = parts.join('');
  const bytes = encoder.encode(whole);
  const isAscii = bytes.length === whole.length;
  const ends = new Uint32Array(parts.length);
  let end = 0;
  for (const [index, part] of parts.entries()) {
    end += isAscii ? part.length : encoder.encode(part).length;
    ends[index] = end;
  }
  return { bytes, ends };
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true });

function cellOf({ bytes, ends, kinds }: ColumnText, row: number): Cell {
  const kind = kinds?.[row] ?? TEXT;
  if (kind === NOTHING) return null;
  const cell = decoder.decode(bytes.subarray(row === 0 ? 0 : ends[row - 1], ends[row]));
  return kind === LIST ? (JSON.parse(cell) as string[]) : cell;
}

/** All cells of a column: decoded as one text where a byte is a character. */
function cellsOf(column: ColumnText, count: number): Cell[] {
  const { bytes, ends, kinds } = column;
  const whole = kinds === null ? decoder.decode(bytes) : '';
  if (whole.length !== bytes.length) {
    return Array.from({ length: count }, (_, row) => cellOf(column, row));
  }
  return Array.from({ length: count }, (_, row) =>
    whole.slice(row === 0 ? 0 : ends[row - 1], ends[row]),
  );
}

/** What moves to another thread without a copy. */
export const transfersOf = ({ columns }: Columns): ArrayBuffer[] =>
  columns.flatMap(({ bytes, ends, kinds }) =>
    [bytes, ends, kinds].flatMap((part) => (part ? [part.buffer as ArrayBuffer] : [])),
  );

/** The rows of a result; each is made of its columns when it is looked at. */
export function resultRows({ fields, count, columns, preview, messages }: Columns): ResultRows {
  const cells = new Map<number, Cell[]>();
  return {
    fields,
    rows: lazyList(count, (row) => columns.map((column) => cellOf(column, row))),
    preview,
    messages,
    byColumn: {
      isNumeric: (at) => columns[at]?.isNumeric ?? false,
      lengths: (at) => columns[at]?.lengths ?? { first: 0, all: 0, lines: 1 },
      cells: (at) => {
        let found = cells.get(at);
        const column = columns[at];
        if (!found && column) {
          found = cellsOf(column, count);
          cells.set(at, found);
        }
        return found ?? [];
      },
    },
  };
}

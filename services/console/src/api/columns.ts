/**
 * Rows of a result by column, as a worker hands them over: the texts of a column are one text, with the place
 * at which each ends. That is copied in a moment, where two million texts are not; a row is made of it when
 * somebody looks at it.
 */

import { asObject, decodeMessages } from './decode';
import { lazyList } from './lazyList';
import type { FieldValue, ResultRows, ServerMessage } from './types';

type Cell = FieldValue | null;

export interface ColumnText {
  text: string;
  /** Of each cell, the end of its text. */
  ends: Uint32Array;
  /** Cells that are no texts; null where all are texts. */
  kinds: Uint8Array | null;
  /** Whether every cell with anything in it is a number, and at least one is. */
  isNumeric: boolean;
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

function columnOf(rows: unknown[][], at: number): ColumnText {
  const parts: string[] = [];
  const ends = new Uint32Array(rows.length);
  let kinds: Uint8Array | null = null;
  let end = 0;
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
    end += text.length;
    ends[index] = end;
  }
  return { text: parts.join(''), ends, kinds, isNumeric: isNumeric && isSeen };
}

function cellOf({ text, ends, kinds }: ColumnText, row: number): Cell {
  const kind = kinds?.[row] ?? TEXT;
  if (kind === NOTHING) return null;
  const cell = text.slice(row === 0 ? 0 : ends[row - 1], ends[row]);
  return kind === LIST ? (JSON.parse(cell) as string[]) : cell;
}

/** What moves to another thread without a copy. */
export const transfersOf = ({ columns }: Columns): ArrayBuffer[] =>
  columns.flatMap(({ ends, kinds }) =>
    [ends, kinds].flatMap((part) => (part ? [part.buffer as ArrayBuffer] : [])),
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
      cells: (at) => {
        let found = cells.get(at);
        const column = columns[at];
        if (!found && column) {
          found = Array.from({ length: count }, (_, row) => cellOf(column, row));
          cells.set(at, found);
        }
        return found ?? [];
      },
    },
  };
}

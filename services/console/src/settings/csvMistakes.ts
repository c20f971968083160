/** What is wrong with the table of a lookup file, before it is uploaded. */

import { grouped, plural } from '../app/format';
import { type CsvRow, readCsv } from './csv';

export interface CsvMistakes {
  /** The file is not uploaded. */
  refused: string[];
  /** The file can be uploaded, but rows of it may not be what they look like. */
  warnings: string[];
}

/** Lines that are named; of further ones, the number. */
const MOST_LINES = 5;

/** Of a file. */
export function mistakesOfFile(bytes: Uint8Array): CsvMistakes {
  const { refused, warnings } = mistakesOfText(new TextDecoder().decode(bytes));
  const lines = linesNotInUtf8(bytes);
  const text = 'bytes that are not UTF-8; they become the character \uFFFD';
  return { refused, warnings: lines.length > 0 ? [at(lines, text), ...warnings] : warnings };
}

export function mistakesOfText(text: string): CsvMistakes {
  const { rows, unclosed } = readCsv(text.startsWith('\uFEFF') ? text.slice(1) : text);
  const [header, ...body] = rows;
  if (!header) return { refused: ['The file is empty: it has no header line'], warnings: [] };
  const refused: string[] = [];
  if (header.cells.every((name) => name.trim() === '')) {
    refused.push(`Line ${header.line}: the header has no names`);
  }
  if (unclosed !== null) {
    refused.push(
      `Line ${unclosed}: a quote (") is not closed; all text after it would be one value`,
    );
  }
  return { refused, warnings: refused.length > 0 ? [] : warningsOf(header, body) };
}

/** Separators of tables that are no CSV, as they are called. */
const SEPARATORS: [string, string][] = [
  [';', '";"'],
  ['\t', 'tabs'],
  ['|', '"|"'],
];

/** What separates the columns of a table whose header has no comma. */
function otherSeparator([name = '', ...more]: string[], body: CsvRow[]): string | undefined {
  const isIn = (sign: string) => body.every(({ cells }) => cells.join(',').includes(sign));
  const found = SEPARATORS.find(([sign]) => name.includes(sign) && isIn(sign));
  return more.length === 0 ? found?.[1] : undefined;
}

function warningsOf({ line, cells: names }: CsvRow, body: CsvRow[]): string[] {
  const other = otherSeparator(names, body);
  // All that follows from it is left out.
  if (other) return [`The columns seem to be separated by ${other}, but Karst expects commas`];
  const warnings: string[] = [];
  if (names.some((name) => name.trim() === '')) {
    warnings.push(`Line ${line}: a column of the header has no name`);
  }
  const twice = names.find((name, place) => name.trim() !== '' && names.indexOf(name) < place);
  if (twice !== undefined) warnings.push(`Line ${line}: the column "${twice}" is there twice`);
  const long = body.filter(({ cells }) => cells.length > names.length);
  if (long.length > 0) {
    const lines = long.map((row) => row.line);
    warnings.push(at(lines, `more values than the header has columns (${names.length})`));
  }
  return warnings;
}

function at(lines: number[], text: string): string {
  const named = lines.slice(0, MOST_LINES).map(grouped).join(', ');
  const more = lines.length - MOST_LINES;
  const rest = more > 0 ? ` and ${plural(more, 'more line')}` : '';
  return `${lines.length === 1 ? 'Line' : 'Lines'} ${named}${rest}: ${text}`;
}

/** A line break is never a part of another character. */
function linesNotInUtf8(bytes: Uint8Array): number[] {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  const isText = (part: Uint8Array) => {
    try {
      decoder.decode(part);
      return true;
    } catch {
      return false;
    }
  };
  if (isText(bytes)) return [];
  const lines: number[] = [];
  let start = 0;
  for (let line = 1; start < bytes.length; line += 1) {
    const found = bytes.indexOf(10, start);
    const end = found === -1 ? bytes.length : found;
    if (!isText(bytes.subarray(start, end))) lines.push(line);
    start = end + 1;
  }
  return lines;
}

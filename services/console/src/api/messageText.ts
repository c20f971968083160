/**
 * Messages of the server as a page shows them: of a long line of a search, the part around the mark below it; of
 * bytes that are not text, the first ones, escaped.
 */

import { grouped } from '../format/numbers';

/** Characters of a line that are shown around a mark. */
const SHOWN = 80;
/** Of these, the characters before the mark. */
const BEFORE = 30;

/** A line of a search, and the mark below it: `1 | index=main | stast`, `    ^^^^^`. */
const LINE = /^(\s*\d+ \| )(.*)$/;
const MARK = /^(\s*)(\^+)\s*$/;

/** The message with lines that are cut around their marks, with `…` at the ends that are cut. */
export function excerpt(message: string): string {
  const lines = message.split('\n');
  for (let at = 0; at + 1 < lines.length; at += 1) {
    const cut = aroundMark(lines[at] ?? '', lines[at + 1] ?? '');
    if (cut) lines.splice(at, 2, ...cut);
  }
  return lines.join('\n');
}

function aroundMark(line: string, below: string): [string, string] | null {
  const source = LINE.exec(line);
  const mark = MARK.exec(below);
  if (!source || !mark) return null;
  const [, prefix = '', text = ''] = source;
  if (text.length <= SHOWN) return null;
  const from = Math.max(0, (mark[1] ?? '').length - prefix.length);
  const length = (mark[2] ?? '').length;
  const end = onCharacter(text, Math.min(text.length, Math.max(0, from - BEFORE) + SHOWN));
  const start = onCharacter(text, Math.max(0, end - SHOWN));
  const before = start > 0 ? '…' : '';
  const after = end < text.length ? '…' : '';
  const column = prefix.length + before.length + Math.min(from, text.length) - start;
  const marked = Math.max(1, Math.min(length, end - from));
  return [
    prefix + before + text.slice(start, end) + after,
    ' '.repeat(column) + '^'.repeat(marked),
  ];
}

/** The place, or the one before it where it is inside of a surrogate pair. */
const onCharacter = (text: string, at: number): number =>
  at > 0 && /[\uDC00-\uDFFF]/.test(text.charAt(at)) ? at - 1 : at;

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const NOT_TEXT = /[\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F\uFFFD]/g;
/** With more of them, the rest of the message is a part of a file. */
const FEW = 3;
/** Characters of a file that are shown, from the first one that is not text. */
const SHOWN_OF_FILE = 16;

/** The message without bytes of a file that is not text: those that are left are escaped. */
export function printable(message: string): string {
  const found = message.match(NOT_TEXT)?.length ?? 0;
  if (found === 0) return message;
  const most = found > FEW ? message.search(NOT_TEXT) + SHOWN_OF_FILE : message.length;
  const end = onCharacter(message, Math.min(message.length, most));
  const text = message
    .slice(0, end)
    .replace(NOT_TEXT, (sign) =>
      sign === '\uFFFD' ? sign : `\\x${sign.charCodeAt(0).toString(16).padStart(2, '0')}`,
    );
  return end < message.length ? `${text}…` : text;
}

const COUNT =
  /\b\d{4,}(?= (?:buckets|bytes|characters|columns|events|fields|lines|results|rows|values)\b)/g;

/** Counts with the separators that the console's own numbers have. Lines with marks stay: they would move. */
const withSeparators = (message: string): string =>
  message.includes('\n') ? message : message.replace(COUNT, (count) => grouped(Number(count)));

export const readable = (message: string): string => withSeparators(excerpt(printable(message)));

/** What is wrong, without the search and the mark below it. */
export const firstLine = (message: string): string => message.split('\n', 1)[0] ?? '';

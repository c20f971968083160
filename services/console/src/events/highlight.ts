/**
 * Splits raw text into marked and plain pieces. The pieces joined are always the text itself, so
 * they can be rendered as text nodes and nothing in an event is ever markup.
 */

export interface Piece {
  text: string;
  marked: boolean;
}

export type Highlighter = (text: string) => Piece[];

const LETTER = '[\\p{L}\\p{N}]';

/** A word matches whatever its case, never inside a longer word; `*` stands for more of the word. */
function wordPattern(word: string): string {
  const escaped = word.replace(/[\\^$.|?+()[\]{}/]/g, '\\$&').replace(/\*+/g, '[^\\s"]*?');
  const start = /^[\p{L}\p{N}]/u.test(word) ? `(?<!${LETTER})` : '';
  const end = /[\p{L}\p{N}*]$/u.test(word) ? `(?!${LETTER})` : '';
  return start + escaped + end;
}

export function highlighter(words: readonly string[]): Highlighter {
  const usable = [...new Set(words)].filter((word) => word.replaceAll('*', '').trim() !== '');
  if (usable.length === 0) return (text) => [{ text, marked: false }];
  usable.sort((a, b) => b.length - a.length);
  const pattern = new RegExp(usable.map(wordPattern).join('|'), 'giu');
  return (text) => split(text, pattern);
}

function split(text: string, pattern: RegExp): Piece[] {
  const pieces: Piece[] = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    if (match[0] === '') continue;
    if (match.index > end) pieces.push({ text: text.slice(end, match.index), marked: false });
    pieces.push({ text: match[0], marked: true });
    end = match.index + match[0].length;
  }
  if (end < text.length || pieces.length === 0)
    pieces.push({ text: text.slice(end), marked: false });
  return pieces;
}

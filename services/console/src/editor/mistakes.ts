/**
 * Where a mistake stands in the typed text. The server's messages show it below the line:
 *
 *     Unknown search command 'stast'.
 *     1 | index=main | stast count
 *                      ^^^^^
 *     hint: did you mean `stats`?
 */

export interface Mistake {
  from: number;
  to: number;
  /** What is wrong, and the hint if there is one. */
  text: string;
}

const LINE = /^(\s*(\d+) \| )(.*)$/;
const MARK = /^(\s*)(\^+)/;

/** The mistakes that a message shows; none if it shows no place. */
export function mistakesOf(message: string, typed: string): Mistake[] {
  const found: Mistake[] = [];
  const typedLines = typed.split('\n');
  const lines = message.split('\n');
  let words: string[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    const source = LINE.exec(line);
    const mark = MARK.exec(lines[at + 1] ?? '');
    if (!source || !mark) {
      if (line.startsWith('hint: ') && found.length > 0) {
        const last = found[found.length - 1] as Mistake;
        last.text = `${last.text} ${line}`;
      } else words.push(line);
      continue;
    }
    const number = Number(source[2]) - 1;
    const own = typedLines[number];
    if (own !== undefined) {
      // In front of what was typed, the server writes the pipe of a generating command, and this page `search`.
      const shift = (source[3] ?? '').length - own.length;
      const isShifted = shift > 0 && (source[3] ?? '').endsWith(own);
      const column = (mark[1] ?? '').length - (source[1] ?? '').length - (isShifted ? shift : 0);
      const start = lengthOf(typedLines.slice(0, number)) + clamp(column, 0, own.length);
      const end = Math.min(
        start + (mark[2] ?? '').length,
        lengthOf(typedLines.slice(0, number)) + own.length,
      );
      found.push({ from: start, to: Math.max(start, end), text: words.join(' ').trim() });
    }
    words = [];
    at += 1;
  }
  return found;
}

const lengthOf = (lines: string[]) => lines.reduce((sum, line) => sum + line.length + 1, 0);
const clamp = (value: number, least: number, most: number) =>
  Math.min(most, Math.max(least, value));

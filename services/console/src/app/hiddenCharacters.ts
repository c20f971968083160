/**
 * Characters of a text that nobody sees or that change how the rest is seen: marks of direction, and those without
 * width or ink. Leaves out those that the script around them needs: joiners within words and emoji, separators of words
 * in scripts without spaces, marks of direction next to letters that are written from right to left. Overrides and
 * isolates are never left out.
 */

export interface Part {
  text: string;
  /** Of a hidden character: its name, `U+202E`. */
  code?: string;
}

const HIDDEN =
  /\u034F|[\u00AD\u061C\u115F\u1160\u180E\u200B-\u200F\u2028-\u202E\u2060-\u2064\u2066-\u2069\u2800\u3164\uFEFF\uFFA0\u{E0000}-\u{E007F}]/u;
const LETTER = '(?!\\p{Script=Latin})\\p{L}';
const UNSPACED = '[\\p{sc=Khmer}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Myanmar}]';
const LEFTWARD = '[\\p{sc=Hebrew}\\p{sc=Arabic}\\p{sc=Syriac}\\p{sc=Thaana}]';
/** What may stand between a letter and its mark of direction. */
const BETWEEN = '[\\p{M}\\p{N}\\p{P}\\p{S}\\p{Zs}]{0,3}';
/** Hidden characters where they belong. */
const NEEDED = [
  `(?<=\\p{Extended_Pictographic}|\\p{Emoji_Modifier}|\\uFE0F|${LETTER}|\\p{M})[\\u200C\\u200D]`,
  `(?<=\\p{N})[\\u200C\\u200D](?=${LETTER})`,
  `(?<=${UNSPACED})\\u200B|\\u200B(?=${UNSPACED})`,
  `(?<=${LEFTWARD}${BETWEEN})[\\u061C\\u200E\\u200F]|[\\u061C\\u200E\\u200F](?=${BETWEEN}${LEFTWARD})`,
  // A flag of a region.
  '\\u{1F3F4}[\\u{E0030}-\\u{E0039}\\u{E0061}-\\u{E007A}]{1,6}\\u{E007F}',
];
const PARTS = new RegExp(`${NEEDED.join('|')}|(${HIDDEN.source})`, 'gu');

export const hasHidden = (text: string): boolean => HIDDEN.test(text);

/**
 * The text in parts; joined they are the text itself. `before` and `after`: the characters around it, where it is a
 * piece of a longer text.
 */
export function partsOfText(text: string, before = '', after = ''): Part[] {
  const whole = before + text + after;
  const parts: Part[] = [];
  let from = before.length;
  const to = from + text.length;
  for (const match of whole.matchAll(PARTS)) {
    const sign = match[1];
    if (sign === undefined || match.index < from || match.index >= to) continue;
    if (match.index > from) parts.push({ text: whole.slice(from, match.index) });
    const code = (sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
    parts.push({ text: sign, code: `U+${code}` });
    from = match.index + sign.length;
  }
  if (from < to || parts.length === 0) parts.push({ text: whole.slice(from, to) });
  return parts;
}

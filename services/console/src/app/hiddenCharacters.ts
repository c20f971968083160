/**
 * Characters of a text that nobody sees and that change how the rest is seen: marks of direction, and those without
 * width. Leaves out the joiners within words of other scripts and within emoji, where they belong.
 */

export interface Part {
  text: string;
  /** Of a hidden character: its name, `U+202E`. */
  code?: string;
}

const HIDDEN = /[\u061C\u180E\u200B-\u200F\u2028-\u202E\u2060-\u2064\u2066-\u2069\uFEFF]/;
const JOINED =
  /(?<=\p{Extended_Pictographic}|\p{Emoji_Modifier}|\uFE0F|(?!\p{Script=Latin})[\p{L}\p{M}])[\u200C\u200D]/u;
const PARTS = new RegExp(`${JOINED.source}|(${HIDDEN.source})`, 'gu');

export const hasHidden = (text: string): boolean => HIDDEN.test(text);

/** The text in parts; joined they are the text itself. */
export function partsOfText(text: string): Part[] {
  const parts: Part[] = [];
  let end = 0;
  for (const match of text.matchAll(PARTS)) {
    const sign = match[1];
    if (sign === undefined) continue;
    if (match.index > end) parts.push({ text: text.slice(end, match.index) });
    const code = sign.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    parts.push({ text: sign, code: `U+${code}` });
    end = match.index + sign.length;
  }
  if (end < text.length || parts.length === 0) parts.push({ text: text.slice(end) });
  return parts;
}

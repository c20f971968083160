/** Words, lists, numbers and colours as they are written in dashboards: tolerantly. */

import { COLOR_NAMES } from './colorNames';

const YES = new Set(['1', 'true', 't', 'yes', 'y', 'on', 'all']);
const NO = new Set(['0', 'false', 'f', 'no', 'n', 'off', 'none', 'undefined', 'null', '']);

export function flag(text: string | null | undefined, otherwise: boolean): boolean {
  if (text === null || text === undefined) return otherwise;
  const word = text.trim().toLowerCase();
  if (YES.has(word)) return true;
  return NO.has(word) ? false : otherwise;
}

export function numberOf(text: string | null | undefined): number | null {
  if (text === null || text === undefined || text.trim() === '') return null;
  const number = Number(text.trim());
  return Number.isFinite(number) ? number : null;
}

/** A number of pixels: `200`, `200px`. */
export const pixels = (text: string | null | undefined): number | null =>
  numberOf(text?.replace(/px\s*$/i, ''));

/** `a, b`, `$a$, $b$` of depends and rejects: the names. */
export function tokenList(text: string | null | undefined): string[] {
  return (text ?? '')
    .split(/[,\s]+/)
    .map((name) => name.replace(/^\$|\$$/g, '').trim())
    .filter((name) => name !== '');
}

/** An apostrophe within a word opens no quotes; a quotation mark without a second one is a character. */
const LIST_PART = /(?:"[^"]*"|\B'[^']*'|[^,])+/g;

/**
 * A list in any spelling: `a,b`, `["a","b"]`, `[a b]`, `"a", "b"`. Quotes around a whole part are left out; those
 * inside one (`host="a,b"`) are a part of it, with their commas.
 */
export function listOf(text: string | null | undefined): string[] {
  const inner = (text ?? '').trim().replace(/^\[(.*)\]$/s, '$1');
  const parts = inner.match(LIST_PART) ?? [];
  return parts.map((part) => unquoted(part.trim())).filter((part) => part !== '');
}

const unquoted = (part: string): string =>
  /^"([^"]*)"$/.exec(part)?.[1] ?? /^'([^']*)'$/.exec(part)?.[1] ?? part;

/** Names of fields: as `listOf`, where blanks separate, too, if there is no comma. */
export function fieldList(text: string | null | undefined): string[] {
  const trimmed = (text ?? '').trim();
  if (trimmed.includes(',') || trimmed.includes('"') || trimmed.startsWith('[')) {
    return listOf(trimmed);
  }
  return trimmed.split(/\s+/).filter((name) => name !== '');
}

/** `{"a": 0x123456, b: #abcdef}`: names with their values, quoted or not. */
export function pairsOf(text: string | null | undefined): Map<string, string> {
  const pairs = new Map<string, string>();
  const inner = (text ?? '').trim().replace(/^\{|\}$/g, '');
  const pattern =
    /\s*(?:"([^"]*)"|'([^']*)'|([^:,]+?))\s*:\s*(?:"([^"]*)"|'([^']*)'|([^,]*))\s*(?:,|$)/g;
  for (const found of inner.matchAll(pattern)) {
    const key = found[1] ?? found[2] ?? found[3] ?? '';
    const value = found[4] ?? found[5] ?? found[6] ?? '';
    if (key !== '') pairs.set(key, value.trim());
  }
  return pairs;
}

/** `0x53a051`, `#53A051`, `53a051`, `#abc` and names in one spelling; `rgb(..)`; null for anything else. */
export function colorOf(text: string | null | undefined): string | null {
  const trimmed = (text ?? '').trim().replace(/^["']|["']$/g, '');
  const hex = /^(?:0x|#)?([0-9a-f]{6}|[0-9a-f]{8})$/i.exec(trimmed)?.[1];
  if (hex) return `#${hex.toLowerCase()}`;
  const short = /^#([0-9a-f]{3})$/i.exec(trimmed)?.[1];
  if (short)
    return `#${[...short]
      .map((digit) => digit + digit)
      .join('')
      .toLowerCase()}`;
  if (/^rgba?\([\d\s.,%/]+\)$/i.test(trimmed)) return trimmed;
  const name = trimmed.toLowerCase();
  return name === 'transparent' ? name : (COLOR_NAMES.get(name) ?? null);
}

export const colorsOf = (text: string | null | undefined): string[] =>
  listOf((text ?? '').replace(/rgba?\([^)]*\)/gi, (color) => color.replaceAll(',', ' ')))
    .map(colorOf)
    .filter((color): color is string => color !== null);

export const numbersOf = (text: string | null | undefined): number[] =>
  listOf(text)
    .map(numberOf)
    .filter((number): number is number => number !== null);

/** `30s`, `5m`, `1h`, `90`: seconds; null for what is none, and for less than one second. */
export function secondsOf(text: string | null | undefined): number | null {
  const found = /^(\d+(?:\.\d+)?)\s*(ms|s|sec|secs|m|min|mins|h|hr|hrs|d)?$/i.exec(
    text?.trim() ?? '',
  );
  if (!found) return null;
  const unit = (found[2] ?? 's').toLowerCase();
  const factor =
    unit === 'ms'
      ? 0.001
      : unit.startsWith('s')
        ? 1
        : unit.startsWith('m')
          ? 60
          : unit.startsWith('h')
            ? 3_600
            : 86_400;
  const seconds = Number(found[1]) * factor;
  return seconds >= 1 ? seconds : null;
}

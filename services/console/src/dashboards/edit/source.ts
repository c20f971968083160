/**
 * Changes of the text of a view, by the places of its elements. Guarantees that everything beside what is
 * changed stays as it is written: comments, order, unknown elements, line ends, indentation.
 */

import { childrenOf, elementsOf, parseXml, rawText, textOf, type XmlElement } from '../model/xml';

const INDENT = '  ';

/** A text with its elements; places are those of the text. */
export interface Source {
  text: string;
  root: XmlElement;
}

/** Reads a text; throws an `XmlError` for one that is not XML. */
export const sourceOf = (text: string): Source => ({ text, root: parseXml(text) });

/** The element that begins at a place. */
export function elementAt({ root }: Source, place: number): XmlElement | null {
  let at: XmlElement | undefined = root;
  while (at && at.start !== place) {
    at = elementsOf(at).find((child) => child.start <= place && place < child.end);
  }
  return at ?? null;
}

export function parentOf({ root }: Source, element: XmlElement): XmlElement | null {
  let at: XmlElement | undefined = root;
  while (at) {
    const inner: XmlElement | undefined = elementsOf(at).find(
      (child) => child.start <= element.start && element.end <= child.end,
    );
    if (inner?.start === element.start) return at;
    at = inner;
  }
  return null;
}

export const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const quoted = (text: string): string => escaped(text).replaceAll('"', '&quot;');

function spliced(text: string, from: number, to: number, put: string): string {
  return text.slice(0, from) + put + text.slice(to);
}

const lineEnd = (text: string): string => (/\r\n/.test(text) ? '\r\n' : '\n');

/** The blanks in front of a place; null where something else stands in its line. */
function indentAt(text: string, place: number): string | null {
  const begin = text.lastIndexOf('\n', place - 1) + 1;
  const before = text.slice(begin, place);
  return /^[ \t]*$/.test(before) ? before : null;
}

/** An element with the blanks and the line that are its own. */
function span(text: string, element: XmlElement): [number, number] {
  const indent = indentAt(text, element.start);
  if (indent === null) return [element.start, element.end];
  const rest = /^[ \t]*\r?\n/.exec(text.slice(element.end));
  return rest
    ? [element.start - indent.length, element.end + rest[0].length]
    : [element.start - indent.length, element.end];
}

export function removed({ text }: Source, element: XmlElement): string {
  const [from, to] = span(text, element);
  return spliced(text, from, to, '');
}

/** `<a/>` as `<a></a>`, so that something can stand in it. */
function opened(source: Source, element: XmlElement): { source: Source; element: XmlElement } {
  if (!source.text.slice(element.start, element.end).endsWith('/>')) return { source, element };
  const begin = source.text.slice(element.start, element.end - 2).trimEnd();
  const text = spliced(source.text, element.start, element.end, `${begin}></${element.written}>`);
  const next = sourceOf(text);
  const found = elementAt(next, element.start);
  if (!found) throw new Error('an element stays where it is');
  return { source: next, element: found };
}

const isEmptyTag = ({ text }: Source, element: XmlElement) =>
  text.slice(element.start, element.end).endsWith('/>');

/** Lines with another indentation, the first one, too. */
const indented = (xml: string, indent: string, end: string): string =>
  xml
    .split('\n')
    .map((line) => (line === '' ? line : indent + line))
    .join(end);

/**
 * Puts XML into an element: in front of one of its children, or behind the last one. It is indented as its
 * neighbours are; of one that is to stay as written, the first line alone.
 */
export function inserted(
  source: Source,
  parent: XmlElement,
  xml: string,
  before: XmlElement | null = null,
  isAsWritten = false,
): string {
  if (isEmptyTag(source, parent)) {
    const next = opened(source, parent);
    return inserted(next.source, next.element, xml, null, isAsWritten);
  }
  const { text } = source;
  const end = lineEnd(text);
  const children = elementsOf(parent);
  const neighbour = before ?? children.at(-1);
  const outer = indentAt(text, parent.start) ?? '';
  const indent = (neighbour && indentAt(text, neighbour.start)) ?? outer + INDENT;
  const lines = isAsWritten ? indent + xml : indented(xml, indent, end);
  if (before) {
    const own = indentAt(text, before.start);
    return own === null
      ? spliced(text, before.start, before.start, `${end}${lines}${end}${indent}`)
      : spliced(text, before.start - own.length, before.start - own.length, lines + end);
  }
  if (!neighbour) {
    const inner = text.slice(parent.innerStart, parent.innerEnd);
    // Behind a comment or a text that stands there alone.
    const kept = inner.trimEnd();
    return spliced(
      text,
      parent.innerStart + kept.length,
      parent.innerEnd,
      `${end}${lines}${end}${outer}`,
    );
  }
  // A comment in the same line belongs to the neighbour.
  const rest = /^[ \t]*<!--[^\n]*?-->(?=[ \t]*\r?\n)/.exec(
    text.slice(neighbour.end, parent.innerEnd),
  );
  const place = neighbour.end + (rest?.[0].length ?? 0);
  const isOnOwnLine = /^[ \t]*\r?\n/.test(text.slice(place, parent.innerEnd));
  return spliced(text, place, place, end + lines + (isOnOwnLine ? '' : end + outer));
}

/** Moves an element, as it is written, into another one, or to another place in the same. */
export function moved(
  source: Source,
  element: XmlElement,
  parent: XmlElement,
  before: XmlElement | null,
): string {
  const isLast = before === null && elementsOf(parent).at(-1)?.start === element.start;
  if (before === element || isLast) return source.text;
  const [from, to] = span(source.text, element);
  const body = source.text.slice(element.start, element.end);
  // The later place first, so that the earlier one stays.
  if ((before ? before.start : parent.innerEnd) >= to) {
    return spliced(inserted(source, parent, body, before, true), from, to, '');
  }
  const next = sourceOf(spliced(source.text, from, to, ''));
  const into = elementAt(next, parent.start);
  if (!into) throw new Error('what is in front of a place stays where it is');
  return inserted(next, into, body, before && elementAt(next, before.start), true);
}

/** Another name of an element, in both of its tags. */
export function renamed({ text }: Source, element: XmlElement, name: string): string {
  const { start, written, innerEnd, end } = element;
  const close = text.slice(innerEnd, end);
  const closing = close.startsWith('</') ? spliced(text, innerEnd, end, `</${name}>`) : text;
  return spliced(closing, start + 1, start + 1 + written.length, name);
}

/** Sets an attribute, or removes it. Names are compared in lower case. */
export function withAttribute(
  { text }: Source,
  element: XmlElement,
  name: string,
  value: string | null,
): string {
  const pattern = /\s+([^\s=<>/"']+)\s*=\s*("[^"]*"|'[^']*')/y;
  pattern.lastIndex = element.start + 1 + element.written.length;
  for (let found = pattern.exec(text); found; found = pattern.exec(text)) {
    if (found[1]?.toLowerCase() !== name.toLowerCase()) continue;
    const from = pattern.lastIndex - (found[2]?.length ?? 0);
    return value === null
      ? spliced(text, found.index, pattern.lastIndex, '')
      : spliced(text, from, pattern.lastIndex, `"${quoted(value)}"`);
  }
  if (value === null) return text;
  const place = element.start + 1 + element.written.length;
  return spliced(text, place, place, ` ${name}="${quoted(value)}"`);
}

const CDATA = /^(\s*<!\[CDATA\[)([\s\S]*)(\]\]>\s*)$/;

/**
 * The text of an element, in CDATA where it was; comments in it stay in front of it. Blanks around it are a
 * change only where they count (`isExact`).
 */
export function withText(
  source: Source,
  element: XmlElement,
  value: string,
  isExact = false,
): string {
  const isSame = isExact ? rawText(element) === value : textOf(element) === value.trim();
  if (isSame) return source.text;
  if (isEmptyTag(source, element)) {
    const next = opened(source, element);
    return withText(next.source, next.element, value, isExact);
  }
  const inner = source.text.slice(element.innerStart, element.innerEnd);
  const cdata = CDATA.exec(inner);
  const put =
    cdata && !value.includes(']]>')
      ? cdata[1] + value + cdata[3]
      : (inner.match(/<!--[\s\S]*?-->/g) ?? []).join('') + escaped(value);
  return spliced(source.text, element.innerStart, element.innerEnd, put);
}

/** What stands between the tags of an element, as it is to be written. */
export function withInner(source: Source, element: XmlElement, inner: string): string {
  if (isEmptyTag(source, element)) {
    const next = opened(source, element);
    return withInner(next.source, next.element, inner);
  }
  return spliced(source.text, element.innerStart, element.innerEnd, inner);
}

/** The first child with one of the names, in their order. */
export function firstChild(element: XmlElement, names: readonly string[]): XmlElement | undefined {
  for (const name of names) {
    const found = childrenOf(element, name.toLowerCase())[0];
    if (found) return found;
  }
  return undefined;
}

/**
 * Sets the text of a child, or removes the child. `names`: its spellings, the one of a new child first.
 * `behind`: names of children that stand in front of it.
 */
export function withChild(
  source: Source,
  parent: XmlElement,
  names: readonly string[],
  value: string | null,
  behind: readonly string[] = [],
  isExact = false,
): string {
  const child = firstChild(parent, names);
  if (child) {
    return value === null ? removed(source, child) : withText(source, child, value, isExact);
  }
  if (value === null) return source.text;
  const xml = `<${names[0]}>${escaped(value)}</${names[0]}>`;
  const front = new Set(behind.map((name) => name.toLowerCase()));
  const before = elementsOf(parent).find((one) => !front.has(one.name)) ?? null;
  return inserted(source, parent, xml, before);
}

/** Sets an option by any of its names, or removes it. One that has several names keeps the first one. */
export function withOption(
  source: Source,
  parent: XmlElement,
  names: readonly string[],
  value: string | null,
): string {
  const wanted = new Set(names.map((name) => name.toLowerCase()));
  const all = childrenOf(parent, 'option').filter((option) =>
    wanted.has(option.attributes.get('name')?.toLowerCase() ?? ''),
  );
  // Of the same name twice, the last one counts.
  const kept = value === null ? undefined : all.at(-1);
  let text = source.text;
  for (const option of [...all].reverse()) {
    const now = { text, root: source.root };
    if (option !== kept) text = removed(now, option);
    else if (value !== null) text = withText(now, option, value);
  }
  if (kept || value === null) return text;
  const xml = `<option name="${quoted(names[0] ?? '')}">${escaped(value)}</option>`;
  const behind = ['drilldown', 'selection', 'format'];
  const options = childrenOf(parent, 'option');
  const last = options.at(-1);
  const before =
    elementsOf(parent).find((one) => (last ? one.start > last.start : behind.includes(one.name))) ??
    null;
  return inserted(source, parent, xml, before);
}

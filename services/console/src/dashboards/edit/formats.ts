/**
 * The `<format>` elements of a table, by form: numbers, and colours of cells. What the form does not know
 * (sparklines, palettes that a token stands for) stays as it is.
 */

import { listOf, pairsOf } from '../model/values';
import { childOf, childrenOf, elementsOf, textOf, type XmlElement } from '../model/xml';
import type { FormField } from './fields';
import { elementAt, inserted, removed, sourceOf, withAttribute, withText } from './source';

export type ColorKind = 'minMidMax' | 'threshold' | 'map' | 'category' | 'expression';

export const COLOR_KINDS: Record<ColorKind, string> = {
  minMidMax: 'By a scale',
  threshold: 'By ranges',
  map: 'By values',
  category: 'Each value its own',
  expression: 'By an expression',
};

/** A palette with its scale, as they are first. */
const FIRST: Record<ColorKind, string> = {
  minMidMax:
    '<colorPalette type="minMidMax" minColor="#FFFFFF" maxColor="#DC4E41"></colorPalette>\n<scale type="minMidMax"></scale>',
  threshold:
    '<colorPalette type="list">[#53A051,#F8BE34,#DC4E41]</colorPalette>\n<scale type="threshold">30,70</scale>',
  map: '<colorPalette type="map">{"ok":#53A051,"failed":#DC4E41}</colorPalette>',
  category:
    '<colorPalette type="sharedList"></colorPalette>\n<scale type="sharedCategory"></scale>',
  expression:
    '<colorPalette type="expression">if(value &gt; 100, "#DC4E41", "#53A051")</colorPalette>',
};

const typeOf = (element: XmlElement | undefined): string =>
  element?.attributes.get('type')?.toLowerCase() ?? '';

/** Those that the form changes. */
export const formatsIn = (table: XmlElement): XmlElement[] =>
  childrenOf(table, 'format').filter((format) => ['color', 'number'].includes(typeOf(format)));

export const isNumbers = (format: XmlElement): boolean => typeOf(format) === 'number';

/** How a format colours; null for a way that the form does not know. */
export function colorKind(format: XmlElement): ColorKind | null {
  const palette = childOf(format, 'colorpalette');
  const scale = typeOf(childOf(format, 'scale'));
  if (!palette || textOf(palette).includes('$')) return null;
  switch (typeOf(palette)) {
    case 'minmidmax':
      return 'minMidMax';
    case 'map':
      return 'map';
    case 'expression':
      return 'expression';
    case 'sharedlist':
      return scale === 'threshold' ? null : 'category';
    case 'list':
      return scale === 'threshold' ? 'threshold' : null;
    default:
      return null;
  }
}

/** A new format of a table, behind its options and formats. */
export function withFormat(text: string, place: number, type: 'color' | 'number'): string {
  const source = sourceOf(text);
  const table = elementAt(source, place);
  if (!table) return text;
  const inner = type === 'number' ? '<option name="precision">2</option>' : FIRST.minMidMax;
  const lines = inner.split('\n').map((line) => `  ${line}`);
  const xml = [`<format type="${type}">`, ...lines, '</format>'].join('\n');
  const children = elementsOf(table);
  const front = new Set(['title', 'description', 'search', 'fields', 'option', 'format']);
  const last = children.findLastIndex((child) => front.has(child.name));
  return inserted(source, table, xml, children[last + 1] ?? null);
}

/** Another way to colour, as it is first. */
export function withColorKind(text: string, place: number, kind: ColorKind): string {
  let source = sourceOf(text);
  for (const name of ['scale', 'colorpalette']) {
    const format = elementAt(source, place);
    const old = format && childOf(format, name);
    if (old) source = sourceOf(removed(source, old));
  }
  const format = elementAt(source, place);
  return format ? inserted(source, format, FIRST[kind]) : text;
}

export const FORMAT_COLUMN: FormField = {
  label: 'Column',
  kind: 'text',
  at: { attribute: 'field' },
  usual: '',
  help: 'Empty: all',
};

const option = (
  label: string,
  kind: FormField['kind'],
  name: string,
  usual: string,
): FormField => ({ label, kind, at: { option: [name] }, usual });

export const NUMBER_FORMAT: FormField[] = [
  { ...option('Digits behind the point', 'number', 'precision', ''), help: 'Empty: 2' },
  option('Thousands apart', 'switch', 'useThousandSeparators', 'true'),
  option('Unit', 'text', 'unit', ''),
  {
    ...option('Place of the unit', 'choice', 'unitPosition', 'after'),
    choices: { after: 'Behind the number', before: 'In front of the number' },
  },
];

const color = (label: string, attribute: string, help?: string): FormField => ({
  label,
  kind: 'color',
  at: { attribute },
  usual: '',
  ...(help ? { help } : {}),
});

/** Of the palette of a scale. */
export const SCALE_COLORS: FormField[] = [
  color('Colour of the lowest', 'minColor'),
  color('Colour of the middle', 'midColor', 'Empty: none'),
  color('Colour of the highest', 'maxColor'),
];

export type Bound = 'min' | 'mid' | 'max';

/** A bound of a scale, and what it counts in where that is not the value itself. */
export function readBound(format: XmlElement, bound: Bound): { value: string; unit: string } {
  const scale = childOf(format, 'scale');
  const type = scale?.attributes.get(`${bound}type`) ?? '';
  const unit = type === 'percent' || type === 'percentile' ? type : '';
  return { value: scale?.attributes.get(`${bound}value`) ?? '', unit };
}

/** Writes a bound; empty: that of the values. What it counts in stays. */
export function writeBound(text: string, place: number, bound: Bound, value: string): string {
  const source = sourceOf(text);
  const format = elementAt(source, place);
  if (!format) return text;
  const scale = childOf(format, 'scale');
  if (!scale) {
    if (value === '') return text;
    return writeBound(
      inserted(source, format, '<scale type="minMidMax"></scale>'),
      place,
      bound,
      value,
    );
  }
  const { unit } = readBound(format, bound);
  const set = (now: string, name: string, to: string | null) => {
    const next = sourceOf(now);
    const found = elementAt(next, scale.start);
    return found ? withAttribute(next, found, name, to) : now;
  };
  const valued = set(text, `${bound}Value`, value === '' ? null : value);
  return set(valued, `${bound}Type`, value === '' ? null : unit || 'number');
}

/** Colours of ranges: one more than there are bounds. */
export interface Ranges {
  bounds: string[];
  colors: string[];
}

export function readRanges(format: XmlElement): Ranges {
  const palette = childOf(format, 'colorpalette');
  const scale = childOf(format, 'scale');
  const bounds = scale ? listOf(textOf(scale)) : [];
  const colors = palette ? listOf(textOf(palette)) : [];
  while (colors.length <= bounds.length) colors.push(colors.at(-1) ?? '#FFFFFF');
  return { bounds, colors: colors.slice(0, bounds.length + 1) };
}

export function writeRanges(text: string, place: number, { bounds, colors }: Ranges): string {
  const scaled = withList(text, place, 'scale', bounds, bounds.join(','));
  return withList(scaled, place, 'colorpalette', colors, `[${colors.join(',')}]`);
}

/** A list in the text of a child; the same one stays in its spelling. */
function withList(
  text: string,
  place: number,
  name: string,
  list: readonly string[],
  written: string,
): string {
  const source = sourceOf(text);
  const format = elementAt(source, place);
  const child = format && childOf(format, name);
  if (!child) return text;
  const isSame = listOf(textOf(child)).join('\n') === list.join('\n');
  return isSame ? text : withText(source, child, written);
}

export const readMap = (format: XmlElement): [value: string, color: string][] => {
  const palette = childOf(format, 'colorpalette');
  return palette ? [...pairsOf(textOf(palette))] : [];
};

/** A value in quotes that it does not have itself. */
const quoted = (value: string): string =>
  value.includes('"') ? `'${value.replaceAll("'", '')}'` : `"${value}"`;

export function writeMap(
  text: string,
  place: number,
  pairs: readonly (readonly [string, string])[],
): string {
  const source = sourceOf(text);
  const format = elementAt(source, place);
  const palette = format && childOf(format, 'colorpalette');
  if (!palette) return text;
  const written = pairs.map(([value, color]) => `${quoted(value)}:${color}`);
  return withText(source, palette, `{${written.join(',')}}`);
}

/** The palette of a format: of an expression, its text. */
export const EXPRESSION: FormField = {
  label: 'Colour, of value',
  kind: 'text',
  at: 'text',
  usual: '',
};

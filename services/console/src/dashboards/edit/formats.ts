/**
 * The `<format>` elements of a table, by form: numbers, and colours of cells. What the form does not know
 * (sparklines, palettes that a token stands for) stays as it is.
 */

import { listOf, pairsOf } from '../model/values';
import { childOf, childrenOf, elementsOf, textOf, type XmlElement } from '../model/xml';
import type { FormField } from './fields';
import { ascendingMistakes, colorMistake, numberMistake, valueMistakes } from './mistakes';
import { elementAt, inserted, removed, sourceOf, withAttribute, withText } from './source';

export type ColorKind = 'minMidMax' | 'threshold' | 'map' | 'category' | 'expression';

export const COLOR_KINDS: Record<ColorKind, string> = {
  minMidMax: 'Scale',
  threshold: 'Ranges',
  map: 'Values',
  category: 'Automatic: each value its own',
  expression: 'Expression',
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
  if (!palette || /^\$[^$]+\$$/.test(textOf(palette))) return null;
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
  {
    ...option('Precision', 'number', 'precision', ''),
    help: 'Decimal places, 0 to 20. Empty: 2',
    range: { least: 0, most: 20, isWhole: true },
  },
  option('Thousands separators', 'switch', 'useThousandSeparators', 'true'),
  option('Unit', 'text', 'unit', ''),
  {
    ...option('Unit position', 'choice', 'unitPosition', 'after'),
    choices: { after: 'After', before: 'Before' },
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
  color('Minimum colour', 'minColor'),
  color('Midpoint colour', 'midColor', 'Empty: no midpoint'),
  color('Maximum colour', 'maxColor'),
];

export const BOUNDS = ['min', 'mid', 'max'] as const;
export type Bound = (typeof BOUNDS)[number];

/** What a bound counts in; empty: it is that of the values. */
export type BoundType = '' | 'number' | 'percent' | 'percentile';

export interface BoundValue {
  type: BoundType;
  value: string;
}

/** The value of a bound that is given a type. */
export const FIRST_BOUNDS: Record<Bound, string> = { min: '0', mid: '50', max: '100' };

const BOUND_TYPES: readonly BoundType[] = ['number', 'percent', 'percentile'];

export function readBound(format: XmlElement, bound: Bound): BoundValue {
  const attributes = childOf(format, 'scale')?.attributes;
  const value = attributes?.get(`${bound}value`) ?? '';
  const written = attributes?.get(`${bound}type`)?.toLowerCase() ?? (value === '' ? '' : 'number');
  return { type: BOUND_TYPES.find((type) => type === written) ?? '', value };
}

/** What is wrong with a bound: those in front of it that count in the same are less. */
export function boundMistake(bounds: readonly BoundValue[], at: number): string | null {
  const bound = bounds[at];
  if (!bound || bound.type === '') return null;
  if (bound.type !== 'number') {
    const mistake = numberMistake(bound.value, { least: 0, most: 100 });
    if (mistake) return mistake;
  }
  const before = bounds.slice(0, at).filter(({ type }) => type === bound.type);
  return ascendingMistakes([...before, bound].map(({ value }) => value)).at(-1) ?? null;
}

export const hasBoundMistake = (bounds: readonly BoundValue[]): boolean =>
  bounds.some((_, at) => boundMistake(bounds, at) !== null);

/** Writes the bounds of a scale, each that differs from what is written. */
export function writeBounds(text: string, place: number, bounds: readonly BoundValue[]): string {
  const format = elementAt(sourceOf(text), place);
  if (!format) return text;
  const scale = childOf(format, 'scale');
  if (!scale) {
    if (bounds.every(({ type }) => type === '')) return text;
    const scaled = inserted(sourceOf(text), format, '<scale type="minMidMax"></scale>');
    return writeBounds(scaled, place, bounds);
  }
  const set = (now: string, name: string, to: string) => {
    const source = sourceOf(now);
    const found = elementAt(source, scale.start);
    return found ? withAttribute(source, found, name, to === '' ? null : to) : now;
  };
  return bounds.reduce((now, { type, value }, at) => {
    const bound = BOUNDS[at];
    const known = bound && readBound(format, bound);
    if (!known || (known.type === type && known.value === value)) return now;
    const valued = set(now, `${bound}Value`, type === '' ? '' : value);
    return set(valued, `${bound}Type`, type);
  }, text);
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

export const hasRangeMistake = ({ bounds, colors }: Ranges): boolean =>
  [...ascendingMistakes(bounds), ...colors.map(colorMistake)].some((mistake) => mistake !== null);

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

export type ColoredValue = readonly [value: string, color: string];

export const hasMapMistake = (pairs: readonly ColoredValue[]): boolean =>
  [
    ...valueMistakes(pairs.map(([value]) => value)),
    ...pairs.map(([, color]) => colorMistake(color)),
  ].some((mistake) => mistake !== null);

export const readMap = (format: XmlElement): ColoredValue[] => {
  const palette = childOf(format, 'colorpalette');
  return palette ? [...pairsOf(textOf(palette))] : [];
};

/** A value in quotes that it does not have itself. */
const quoted = (value: string): string =>
  value.includes('"') ? `'${value.replaceAll("'", '')}'` : `"${value}"`;

export function writeMap(text: string, place: number, pairs: readonly ColoredValue[]): string {
  const source = sourceOf(text);
  const format = elementAt(source, place);
  const palette = format && childOf(format, 'colorpalette');
  const isSame = format && JSON.stringify(readMap(format)) === JSON.stringify(pairs);
  if (!palette || isSame) return text;
  const written = pairs.map(([value, color]) => `${quoted(value)}:${color}`);
  return withText(source, palette, `{${written.join(',')}}`);
}

/** The text of the palette of an expression. */
export function writeExpression(text: string, place: number, expression: string): string {
  const source = sourceOf(text);
  const format = elementAt(source, place);
  const palette = format && childOf(format, 'colorpalette');
  return palette ? withText(source, palette, expression) : text;
}

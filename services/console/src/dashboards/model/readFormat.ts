/** From `<format>` of a table to a `CellFormat`. */

import { readOptions } from './readOptions';
import type { CellFormat, ColorPalette, ColorScale } from './types';
import { colorOf, listOf, pairsOf } from './values';
import { childOf, textOf, type XmlElement } from './xml';

export function readFormat(element: XmlElement): CellFormat | null {
  const type = element.attributes.get('type')?.toLowerCase();
  if (type !== 'color' && type !== 'number' && type !== 'sparkline') return null;
  const palette = childOf(element, 'colorpalette');
  const scale = childOf(element, 'scale');
  return {
    type,
    field: element.attributes.get('field') ?? null,
    palette: palette ? readPalette(palette) : null,
    scale: scale ? readScale(scale) : null,
    options: readOptions(element),
  };
}

function readPalette(element: XmlElement): ColorPalette | null {
  const attribute = (name: string) => element.attributes.get(name);
  const text = textOf(element);
  switch (attribute('type')?.toLowerCase()) {
    case 'minmidmax':
      return {
        type: 'minMidMax',
        min: colorOf(attribute('mincolor')) ?? '#ffffff',
        mid: colorOf(attribute('midcolor')),
        max: colorOf(attribute('maxcolor')) ?? '#d93f3c',
      };
    case 'map': {
      const colors = new Map<string, string>();
      for (const [value, color] of pairsOf(text)) {
        const known = colorOf(color);
        if (known) colors.set(value, known);
      }
      return { type: 'map', colors };
    }
    case 'list':
      return { type: 'list', colors: listOf(text).map((color) => colorOf(color) ?? '#ffffff') };
    case 'sharedlist':
      return { type: 'sharedList' };
    case 'expression':
      return { type: 'expression', expression: text };
    default:
      return null;
  }
}

const SCALES: Record<string, ColorScale['type']> = {
  minmidmax: 'minMidMax',
  threshold: 'threshold',
  category: 'category',
  sharedcategory: 'sharedCategory',
};

function readScale(element: XmlElement): ColorScale {
  const attribute = (name: string) => element.attributes.get(name) ?? null;
  return {
    type: SCALES[attribute('type')?.toLowerCase() ?? ''] ?? 'none',
    values: listOf(textOf(element)),
    minType: attribute('mintype'),
    minValue: attribute('minvalue'),
    midType: attribute('midtype'),
    midValue: attribute('midvalue'),
    maxType: attribute('maxtype'),
    maxValue: attribute('maxvalue'),
  };
}

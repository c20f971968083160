/** What a report says about its display, `display.*` of savedsearches.conf, as options of an element. */

import type { ElementKind, Options } from './types';
import { colorOf } from './values';

/** Of each kind: what a name begins with, and which option it is then. */
const NAMES: Partial<Record<ElementKind, readonly (readonly [string, string])[]>> = {
  chart: [
    ['display.visualizations.charting.', 'charting.'],
    ['display.visualizations.trellis.', 'trellis.'],
  ],
  single: [
    ['display.visualizations.singlevalue.', ''],
    ['display.visualizations.trellis.', 'trellis.'],
  ],
  map: [['display.visualizations.mapping.', 'mapping.']],
  table: [
    ['display.statistics.overlay', 'dataoverlaymode'],
    ['display.statistics.', ''],
  ],
  event: [['display.events.', '']],
  unsupported: [
    ['display.visualizations.custom.', ''],
    ['display.visualizations.trellis.', 'trellis.'],
  ],
};

/** Options for an element of this kind; of a setting that fits twice, the first name counts. */
export function reportOptions(kind: ElementKind, settings: Options): Options {
  const options = new Map<string, string>();
  for (const [name, value] of settings) {
    const found = NAMES[kind]?.find(([begin]) => name.toLowerCase().startsWith(begin));
    if (found && value !== '') {
      options.set(found[1] + name.slice(found[0].length).toLowerCase(), value);
    }
  }
  return options;
}

/** Of the element, not of its visualization. */
const OF_ELEMENT = /^(?:trellis|link|refresh)\./;

/**
 * Options of a custom visualization without what stands in front of them in several spellings: the name of its app and its own,
 * `display.visualizations.custom`. Those of its own name count before those of others that a report has, too.
 */
export function customOptionsOf(options: Options, type: string): Map<string, string> {
  const own = `${type.trim().toLowerCase()}.`;
  const all = [...options].map(([name, value]): [string, string] => [
    name.replace(/^display\.visualizations\.custom\./, ''),
    value,
  ]);
  const isOwn = (name: string) => name.startsWith(own);
  const ordered = [
    ...all.filter(([name]) => !isOwn(name) && !OF_ELEMENT.test(name)),
    ...all.filter(([name]) => isOwn(name)),
  ];
  return new Map(
    ordered.map(([name, value]) => {
      const key = name.split('.').at(-1) ?? name;
      return [key, key.endsWith('color') ? (colorOf(value) ?? value) : value];
    }),
  );
}

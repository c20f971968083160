/** What a report says about its display, `display.*` of savedsearches.conf, as options of an element. */

import type { ElementKind, Options } from './types';

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
  unsupported: [['display.visualizations.custom.', '']],
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

/** The `<option>` elements of an element: names in lower case; of the same name twice, the last one counts. */

import type { Options } from './types';
import { childrenOf, textOf, type XmlElement } from './xml';

export function readOptions(element: XmlElement): Options {
  const options = new Map<string, string>();
  for (const option of childrenOf(element, 'option')) {
    const name = option.attributes.get('name')?.toLowerCase();
    if (name) options.set(name, textOf(option));
  }
  return options;
}

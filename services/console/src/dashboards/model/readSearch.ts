/** From `<search>`, and its spellings of before, to a `Search`. */

import { readHandler } from './readHandler';
import type { Handler, Search, SearchEventName } from './types';
import { tokenList } from './values';
import { childOf, childText, type XmlElement } from './xml';

/** Names for what has none. */
export class Keys {
  #count = 0;

  next(kind: string): string {
    this.#count += 1;
    return `${kind}-${this.#count}`;
  }
}

/** What a form in the old spelling says for all its searches. */
export interface SearchDefaults {
  template: string | null;
  earliest: string | null;
  latest: string | null;
}

const EVENTS: Record<string, SearchEventName> = {
  progress: 'progress',
  preview: 'preview',
  done: 'done',
  finalized: 'finalized',
  error: 'error',
  fail: 'error',
  cancelled: 'cancelled',
};

export function readSearch(element: XmlElement, keys: Keys, defaults: SearchDefaults): Search {
  const attribute = (name: string) => element.attributes.get(name);
  const handlers: Partial<Record<SearchEventName, Handler>> = {};
  for (const [name, event] of Object.entries(EVENTS)) {
    const handler = childOf(element, name);
    if (handler) handlers[event] = readHandler(handler);
  }
  const isSearch = element.name === 'search';
  const earliest = childText(element, 'earliest', 'earliesttime') ?? attribute('earliest') ?? null;
  const latest = childText(element, 'latest', 'latesttime') ?? attribute('latest') ?? null;
  return {
    key: keys.next('search'),
    id: isSearch ? (attribute('id') ?? null) : null,
    source: sourceOf(element, defaults),
    earliest: earliest ?? defaults.earliest,
    latest: latest ?? defaults.latest,
    refresh: childText(element, 'refresh') ?? null,
    refreshType:
      childText(element, 'refreshtype')?.toLowerCase() === 'interval' ? 'interval' : 'delay',
    handlers,
    depends: isSearch ? tokenList(attribute('depends')) : [],
    rejects: isSearch ? tokenList(attribute('rejects')) : [],
    line: element.line,
  };
}

function sourceOf(element: XmlElement, defaults: SearchDefaults): Search['source'] {
  const attribute = (name: string) => element.attributes.get(name);
  const report = attribute('ref') ?? childText(element, 'searchname');
  if (report) return { kind: 'report', name: report, app: attribute('app') ?? null };
  const base = attribute('base');
  const query = childText(element, 'query', 'searchstring', 'searchtemplate');
  if (base) return { kind: 'base', base, query: query ?? '' };
  if (query !== undefined) return { kind: 'query', query };
  const rest = childText(element, 'searchpostprocess') ?? '';
  if (defaults.template !== null) return { kind: 'base', base: defaults.template, query: rest };
  return { kind: 'query', query: rest };
}

/** The search of an element or an input: its text, its range, what it is computed from. */

import { childOf, childrenOf, elementsOf, textOf, type XmlElement } from '../model/xml';
import { commandsOf } from '../runtime/links';
import type { FormField } from './fields';
import {
  elementAt,
  firstChild,
  inserted,
  removed,
  type Source,
  sourceOf,
  withAttribute,
  withChild,
} from './source';

export interface SearchParts {
  kind: 'query' | 'base' | 'report';
  /** The text, or the name of the report. */
  query: string;
  /** The id of the base. */
  base: string;
  earliest: string;
  latest: string;
}

/** What holds the search: `<search>`, which the element may be itself, or in the spelling of before the element. */
export function searchOf(element: XmlElement): XmlElement | null {
  if (element.name === 'search') return element;
  const own = childrenOf(element, 'search').find(
    (search) => search.attributes.get('type') !== 'annotation',
  );
  return own ?? (firstChild(element, OLD) ? element : null);
}

const OLD = ['searchString', 'searchTemplate', 'query', 'searchName', 'searchPostProcess'];
const QUERY = ['query', 'searchString', 'searchTemplate'];
const POST = ['query', 'searchPostProcess'];
export const EARLIEST = ['earliest', 'earliestTime'];
export const LATEST = ['latest', 'latestTime'];

export function readSearchParts(element: XmlElement): SearchParts | null {
  const search = searchOf(element);
  if (!search) return null;
  const text = (names: string[]) => {
    const child = firstChild(search, names);
    return child ? textOf(child) : '';
  };
  const attribute = (name: string) => search.attributes.get(name) ?? '';
  const isSearch = search.name === 'search';
  const report = isSearch ? attribute('ref') : '';
  const base = isSearch ? attribute('base') : '';
  const kind = report || childOf(search, 'searchname') ? 'report' : base ? 'base' : 'query';
  return {
    kind,
    query:
      kind === 'report' ? report || text(['searchName']) : text([...QUERY, 'searchPostProcess']),
    base,
    earliest: text(EARLIEST) || attribute('earliest'),
    latest: text(LATEST) || attribute('latest'),
  };
}

/** Writes the text of a search; an element without one gets a `<search>`. */
export function writeQuery(text: string, place: number, query: string): string {
  const source = sourceOf(text);
  const element = elementAt(source, place);
  if (!element) return text;
  const search = searchOf(element);
  if (!search) {
    const next = withChild(source, element, ['search'], '', ['title', 'description', 'label']);
    return writeQuery(next, place, query);
  }
  if (search.name === 'search' && search.attributes.has('ref')) {
    return withAttribute(source, search, 'ref', query);
  }
  const names = childOf(search, 'searchname')
    ? ['searchName']
    : childOf(search, 'searchpostprocess')
      ? POST
      : QUERY;
  return withChild(source, search, names, query, []);
}

/** Writes the range of a search; an empty one leaves it to the page. */
export function writeRange(text: string, place: number, earliest: string, latest: string): string {
  const write = (now: string, names: readonly string[], value: string, behind: string[]) => {
    const source = sourceOf(now);
    const element = elementAt(source, place);
    const search = element && searchOf(element);
    if (!search) return now;
    // Written as attributes, it stays there.
    const attribute = names[0] ?? '';
    if (search.attributes.has(attribute) && !firstChild(search, names)) {
      return withAttribute(source, search, attribute, value === '' ? null : value);
    }
    return withChild(source, search, names, value === '' ? null : value, behind);
  };
  const front = ['query', 'searchstring', 'searchtemplate', 'title', 'searchname'];
  const begun = write(text, EARLIEST, earliest, front);
  return write(begun, LATEST, latest, [...front, 'earliest', 'earliesttime']);
}

// -- searches that others are computed from

/** Searches of the page itself, of its rows and panels: what no element shows. */
export const pageSearchesOf = ({ root }: Source): XmlElement[] =>
  [
    root,
    ...childrenOf(root, 'row'),
    ...childrenOf(root, 'row').flatMap((row) => childrenOf(row, 'panel')),
  ].flatMap((holder) => childrenOf(holder, 'search'));

function allSearches(element: XmlElement): XmlElement[] {
  return elementsOf(element).flatMap((child) => [
    ...(child.name === 'search' ? [child] : []),
    ...allSearches(child),
  ]);
}

const idOf = (search: XmlElement): string => search.attributes.get('id')?.trim() ?? '';

/** Ids of searches from which a search may be computed: none that is computed from it. */
export function basesFor({ root }: Source, search: XmlElement | null): string[] {
  const all = allSearches(root);
  const byId = new Map(all.map((one) => [idOf(one), one]));
  const leadsTo = (from: XmlElement): boolean => {
    const seen = new Set<XmlElement>();
    for (let at: XmlElement | undefined = from; at && !seen.has(at); ) {
      if (at.start === search?.start) return true;
      seen.add(at);
      const base: string = at.attributes.get('base')?.trim() ?? '';
      at = base === '' ? undefined : byId.get(base);
    }
    return false;
  };
  return all.filter((one) => idOf(one) !== '' && !leadsTo(one)).map(idOf);
}

/** The searches that are computed from one. */
export const usersOf = ({ root }: Source, search: XmlElement): XmlElement[] =>
  idOf(search) === ''
    ? []
    : allSearches(root).filter((one) => one.attributes.get('base') === idOf(search));

/**
 * Computes the search of an element from another one, by what stands behind its first command: the base has
 * the events, and the range.
 */
export function withBase(text: string, place: number, base: string): string {
  const ranged = writeRange(text, place, '', '');
  const source = sourceOf(ranged);
  const element = elementAt(source, place);
  if (!element) return text;
  const search = searchOf(element);
  const parts = readSearchParts(element);
  // In the spelling of before, no element has a base: it gets a `<search>`.
  if (search?.name !== 'search') {
    const query = parts?.query ?? '';
    const old = search ? [...QUERY, 'searchPostProcess'] : [];
    let now = source;
    for (const name of old) {
      const child = childOf(elementAt(now, place) ?? element, name.toLowerCase());
      if (child) now = sourceOf(removed(now, child));
    }
    return withBase(writeQuery(withEmptySearch(now.text, place), place, query), place, base);
  }
  const isOwn = parts?.kind === 'query';
  const rest = commandsOf(parts?.query ?? '')
    .slice(1)
    .join(' | ');
  const based = withAttribute(source, search, 'base', base);
  return isOwn ? writeQuery(based, place, rest) : based;
}

function withEmptySearch(text: string, place: number): string {
  const source = sourceOf(text);
  const element = elementAt(source, place);
  return element
    ? withChild(source, element, ['search'], '', ['title', 'description', 'label'])
    : text;
}

/** Gives an element a search of its own again: that of its base, and what it was computed by. */
export function withoutBase(text: string, place: number): string {
  const source = sourceOf(text);
  const element = elementAt(source, place);
  const search = element && searchOf(element);
  const parts = element && readSearchParts(element);
  if (!search || parts?.kind !== 'base') return text;
  const base = allSearches(source.root).find((one) => idOf(one) === parts.base);
  const of = base && readSearchParts(base);
  const next = withAttribute(source, search, 'base', of?.kind === 'base' ? of.base : null);
  const rest = parts.query.trim().replace(/^\|\s*/, '');
  const query = [of?.query ?? '', rest].filter((part) => part !== '').join(' | ');
  const queried = writeQuery(next, place, query);
  return of?.kind === 'query' ? writeRange(queried, place, of.earliest, of.latest) : queried;
}

/** A search of the page that panels can be computed from, in front of the inputs and rows. */
export function withPageSearch(text: string): string {
  const source = sourceOf(text);
  const ids = new Set(allSearches(source.root).map(idOf));
  let id = 'base';
  for (let at = 2; ids.has(id); at += 1) id = `base${at}`;
  const xml = [
    `<search id="${id}">`,
    '  <query>index=* | stats count by host, sourcetype</query>',
    '  <earliest>-24h@h</earliest>',
    '  <latest>now</latest>',
    '</search>',
  ].join('\n');
  const front = new Set(['label', 'description', 'init', 'search']);
  const before = elementsOf(source.root).find((one) => !front.has(one.name)) ?? null;
  return inserted(source, source.root, xml, before);
}

/** Names a search; those that are computed from it follow. */
export function withId(text: string, place: number, id: string): string {
  const source = sourceOf(text);
  const search = elementAt(source, place);
  if (!search || id.trim() === '') return text;
  const users = usersOf(source, search);
  // The last one first, so that places in front of it stay.
  const changes = [...users, search].sort((a, b) => b.start - a.start);
  return changes.reduce((now, one) => {
    const next = sourceOf(now);
    const found = elementAt(next, one.start);
    const name = one === search ? 'id' : 'base';
    return found ? withAttribute(next, found, name, id.trim()) : now;
  }, text);
}

export const SEARCH_FIELDS: FormField[] = [
  {
    label: 'Run again every',
    kind: 'text',
    at: { child: ['refresh'], behind: ['query', 'earliest', 'latest'] },
    usual: '',
    help: '5m; empty: never',
  },
];

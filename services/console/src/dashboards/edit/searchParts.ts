/** The search of an element or an input: its text, its range, what it is computed from. */

import { childOf, childrenOf, textOf, type XmlElement } from '../model/xml';
import { elementAt, firstChild, sourceOf, withAttribute, withChild } from './source';

export interface SearchParts {
  kind: 'query' | 'base' | 'report';
  /** The text, or the name of the report. */
  query: string;
  /** The id of the base. */
  base: string;
  earliest: string;
  latest: string;
}

/** What holds the search: `<search>`, or in the spelling of before the element itself. */
export function searchOf(element: XmlElement): XmlElement | null {
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
  const report = search === element ? '' : attribute('ref');
  const base = search === element ? '' : attribute('base');
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
  if (search !== element && search.attributes.has('ref')) {
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

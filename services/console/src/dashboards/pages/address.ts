/** The query of the page's address, which a dashboard writes itself. */

export function replaceQuery(query: URLSearchParams): void {
  write(query, 'replaceState');
}

/** `isChoice`: a person has changed the query, and the browser's back button leads to the one of now. */
export function writeQuery(query: URLSearchParams, isChoice: boolean): void {
  write(query, isChoice ? 'pushState' : 'replaceState');
}

function write(query: URLSearchParams, way: 'pushState' | 'replaceState'): void {
  const text = query.toString();
  const search = text ? `?${text}` : '';
  const { history, location } = window;
  // A choice that is made again is no step.
  if (search === location.search && way === 'pushState') return;
  history[way](null, '', location.pathname + search);
}

/** Whether the address has the path of another one with another query. */
export function isOtherQuery(address: string): boolean {
  const { pathname, search } = new URL(address);
  return pathname === window.location.pathname && search !== window.location.search;
}

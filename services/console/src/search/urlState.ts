/** A search in the address bar: `?q=&earliest=&latest=`. Reading what was written gives it back. */

import { DEFAULT_RANGE, isTimeModifier, type TimeRange } from '../time/timeRange';

export interface SearchRequest {
  query: string;
  range: TimeRange;
}

export function readUrl(queryString: string): SearchRequest | null {
  const parameters = new URLSearchParams(queryString);
  const query = parameters.get('q');
  if (query === null) return null;
  const bound = (name: 'earliest' | 'latest') => {
    const text = parameters.get(name);
    return text !== null && isTimeModifier(text) ? text : null;
  };
  const earliest = bound('earliest');
  const latest = bound('latest');
  if (earliest === null && latest === null) return { query, range: DEFAULT_RANGE };
  return { query, range: { earliest: earliest ?? '', latest: latest ?? '' } };
}

export function writeUrl(request: SearchRequest): string {
  const parameters = new URLSearchParams({
    q: request.query,
    earliest: request.range.earliest,
    latest: request.range.latest,
  });
  return `?${parameters.toString()}`;
}

export function sameRequest(a: SearchRequest | null, b: SearchRequest | null): boolean {
  return a === b || (a !== null && b !== null && writeUrl(a) === writeUrl(b));
}

/** Why a search may have found nothing: its index is unknown, empty, or has its events outside of the time range. */

import type { Entry, JobStatus } from '../api/types';
import { baseSearch } from '../query/syntax';
import { parseTime } from '../time/zone';

export type IndexHint =
  /** The search names no index. */
  | { kind: 'none' }
  | { kind: 'unknown'; index: string }
  | { kind: 'empty'; index: string }
  /** All events are older, or younger, than the range: the one that is next to it, in epoch seconds. */
  | { kind: 'older' | 'younger'; index: string; time: number };

const TERM = /(\bNOT\s+)?(?<![\w.])index\s*(?:=\s*("[^"]*"|[^\s()|"]+)|\sIN\s*\(([^)]*)\))/gi;

/** The names and patterns of indexes before the first pipe; those after NOT do not count. */
export function indexesOf(query: string): string[] {
  const names = [...baseSearch(query).matchAll(TERM)].flatMap(([, not, one, list]) => {
    if (not !== undefined) return [];
    return one === undefined ? (list ?? '').split(',') : [one];
  });
  return [...new Set(names.map((name) => name.trim().replace(/^"(.*)"$/, '$1')).filter(Boolean))];
}

/** As the server: a pattern finds names with `_` in front only if it begins so. */
function isOf(pattern: string, name: string): boolean {
  if (name.startsWith('_') && !pattern.startsWith('_')) return false;
  const escaped = pattern.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*');
  return new RegExp(`^${escaped}$`, 'i').test(name);
}

const timeOf = (entry: Entry, name: string): number | null =>
  parseTime(String(entry.content[name] ?? ''));

/** Null: the indexes have events in the range, as far as is known. `entries`: all that the user may search. */
export function indexHint(
  query: string,
  { earliestTime, latestTime }: Pick<JobStatus, 'earliestTime' | 'latestTime'>,
  entries: readonly Entry[],
): IndexHint | null {
  const patterns = indexesOf(query);
  if (patterns.length === 0) return isGenerating(query) ? null : { kind: 'none' };
  const unknown = patterns.find((pattern) => !entries.some(({ name }) => isOf(pattern, name)));
  if (unknown !== undefined) return { kind: 'unknown', index: unknown };
  const meant = entries.filter(({ name }) => patterns.some((pattern) => isOf(pattern, name)));
  // The server does not tell users with a search filter what it may hide from them.
  if (meant.some(({ content }) => content.minTime === null)) return null;
  const spans = meant.flatMap((entry) => {
    const [first, last] = [timeOf(entry, 'minTime'), timeOf(entry, 'maxTime')];
    return first === null || last === null ? [] : [{ index: entry.name, first, last }];
  });
  if (spans.length === 0) return { kind: 'empty', index: patterns.join(', ') };
  const from = parseTime(earliestTime) ?? Number.NEGATIVE_INFINITY;
  const to = parseTime(latestTime) ?? Number.POSITIVE_INFINITY;
  // The server's times of an index are whole seconds, rounded down.
  if (spans.some(({ first, last }) => last + 1 >= from && first <= to)) return null;
  const older = spans.filter(({ last }) => last < from).sort((a, b) => b.last - a.last)[0];
  if (older) return { kind: 'older', index: older.index, time: older.last };
  const younger = spans.sort((a, b) => a.first - b.first)[0];
  return younger ? { kind: 'younger', index: younger.index, time: younger.first } : null;
}

/** Searches that begin with a command read no index, or one that only the command knows. */
const isGenerating = (query: string): boolean =>
  query.trimStart().startsWith('|') || query.includes('`');

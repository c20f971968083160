/** What the home page shows, from the answers of the server: sources by their last event, warnings, lists. */

import type { Entry, Report, ResultRows } from '../api/types';
import { plural } from '../app/format';
import { cellNumber, cellText } from '../statistics/table';

/** Source types of all indexes that the user may search, with the time of the last event received. */
export const SOURCES_SEARCH = '| metadata type=sourcetypes index=*';

/** What the search needs. */
export const SOURCES_RIGHTS = ['search', 'get_metadata'];

export interface SourceRow {
  name: string;
  /** Epoch seconds at which the last event was received. */
  received: number;
  events: number;
}

/** The last sender first. */
export function sourcesOf({ fields, rows }: ResultRows): SourceRow[] {
  const column = (name: string) => fields.indexOf(name);
  const [name, received, events] = [
    column('sourcetype'),
    column('recentTime'),
    column('totalCount'),
  ];
  return rows
    .map((row) => ({
      name: cellText(row[name] ?? null),
      received: cellNumber(row[received] ?? null) ?? 0,
      events: cellNumber(row[events] ?? null) ?? 0,
    }))
    .filter((source) => source.name !== '' && source.events > 0)
    .sort((a, b) => b.received - a.received || a.name.localeCompare(b.name));
}

/** The answer of a request; none after one that failed: an earlier answer may be wrong by now. */
export const currentOf = <T>({ data, error }: { data: T | undefined; error: unknown }) =>
  error ? undefined : data;

const UNITS = [
  ['day', 86_400],
  ['h', 3_600],
  ['min', 60],
] as const;

/** How long ago, in the largest unit that fits; a clock that is ahead says now. */
export function agoText(seconds: number): string {
  if (seconds < 10) return 'now';
  for (const [unit, size] of UNITS) {
    if (seconds >= 2 * size) {
      const count = Math.floor(seconds / size);
      return `${unit === 'day' ? plural(count, unit) : `${count} ${unit}`} ago`;
    }
  }
  return `${Math.floor(seconds)} s ago`;
}

export interface Warning {
  text: string;
  level: 'error' | 'warning' | 'info';
}

const LEVELS: Record<string, Warning['level']> = { error: 'error', warn: 'warning', info: 'info' };
const ORDER = ['error', 'warning', 'info'];

/** Messages of administrators, and what the server says of its own health, the worst first. */
export function warningsOf(messages: readonly Entry[]): Warning[] {
  return messages
    .map((entry) => ({
      text: String(entry.content.message ?? entry.name),
      level: LEVELS[String(entry.content.severity)] ?? 'info',
    }))
    .sort((a, b) => ORDER.indexOf(a.level) - ORDER.indexOf(b.level));
}

/** The user's own first, then by name. */
export function ownFirst<T extends { owner: string; name: string }>(
  all: readonly T[],
  username: string,
): T[] {
  const rank = (one: T) => (one.owner === username ? 0 : 1);
  return [...all].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name));
}

export interface ListedDashboard {
  name: string;
  label: string;
  app: string;
  owner: string;
}

export function dashboardsOf(views: readonly Entry[], username: string): ListedDashboard[] {
  const isOn = (value: unknown) => value === true || value === 1 || value === '1';
  const shown = views
    .filter(({ content }) => isOn(content.isDashboard) && isOn(content.isVisible))
    .map(({ name, content, app, owner }) => ({
      name,
      app,
      owner,
      label: String(content.label ?? '') || name,
    }));
  return ownFirst(shown, username);
}

/** Reports that people may run: those that are switched off are not among them. */
export const reportsOf = (reports: readonly Report[], username: string): Report[] =>
  ownFirst(
    reports.filter((report) => !report.disabled),
    username,
  );

/** The beginning of a long text, up to a blank if there is one near its end; null if the text is not long. */
export function beginning(text: string, most: number): string | null {
  if (text.length <= most) return null;
  const cut = text.slice(0, most);
  const blank = cut.lastIndexOf(' ');
  return `${(blank > most / 2 ? cut.slice(0, blank) : cut).trimEnd()} …`;
}

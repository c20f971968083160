/** What the server says of a text that it has loaded: how it was understood, in words. */

import { asObject } from '../api/decode';
import { plural } from '../app/format';
import { formatEpoch, formatMoment, parseTime } from '../time/zone';
import type { Span } from './retention';

export interface LoadReport {
  sourcetype: string;
  events: number;
  /** `2024-05-01 10:00:00 to 2024-05-02 10:00:00 (UTC)`; empty without events. */
  span: string;
  times: Span;
  notes: string[];
}

const seconds = (micros: unknown): number | null =>
  typeof micros === 'number' ? micros / 1_000_000 : null;

const shown = (time: number | null, zone: string): string =>
  time === null ? '' : formatEpoch(time, zone);

/** Times are those of the zone of the user, as in the preview and in the table of the first events. */
export function readLoadReport(body: unknown, zone: string): LoadReport {
  const root = asObject(body);
  const count = (name: string) => Number(root[name] ?? 0) || 0;
  const times = { earliest: seconds(root.earliest), latest: seconds(root.latest) };
  const [from, to] = [shown(times.earliest, zone), shown(times.latest, zone)];
  const notes: string[] = [];
  const note = (name: string, text: (n: number) => string) => {
    if (count(name) > 0) notes.push(text(count(name)));
  };
  note(
    'undated',
    (n) =>
      `${plural(n, 'event')} without a timestamp: the time of the previous event, or the current time, was used`,
  );
  note('truncated', (n) => `${plural(n, 'line')} truncated at the maximum length (TRUNCATE)`);
  note('split', (n) => `${plural(n, 'event')} split at the maximum number of lines (MAX_EVENTS)`);
  note('headers', () => 'the first line was taken as the header');
  return {
    sourcetype: String(root.sourcetype ?? ''),
    events: count('events'),
    span: from === '' ? '' : `${from} to ${to} (${zone})`,
    times,
    notes,
  };
}

/** A value of the first events: a time as the preview shows it, in the zone of the user. */
export function shownValue(field: string, text: string, zone: string): string {
  const time = field === '_time' ? parseTime(text) : null;
  return time === null ? text : formatMoment(time, zone);
}

/** How long a text is: `3 lines, 6 characters`. */
export function sizeOf(text: string): string {
  const breaks = text.split('\n').length - (text.endsWith('\n') ? 1 : 0);
  return `${plural(breaks, 'line')}, ${plural(text.length, 'character')}`;
}

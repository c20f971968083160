/**
 * The events of a live tail: what has arrived since the last look, each of them once, newest first.
 * Guarantees that an event is shown once although looks overlap, and that memory is limited. Leaves asking to the
 * component.
 */

import type { EventRow } from '../api/types';
import { valuesOf } from '../events/values';

/** Rows that are kept. */
export const MOST_KEPT = 5_000;
/** Events of one look; where more arrive, the newest are shown and the page says so. */
export const MOST_PER_LOOK = 400;
/** Seconds by which looks overlap: events of one second become searchable one after the other. */
const OVERLAP = 3;

export interface Tail {
  rows: EventRow[];
  /** Whether more arrived at the last look than were shown. */
  isThinned: boolean;
  /** Events that were shown since the beginning. */
  total: number;
  /** The latest index time, by the clock of the server; null before the first event. */
  latest: number | null;
  /** The earliest index time of the first look that found events: what is older is not of this tail. */
  floor: number;
  /** Keys of the events since `latest - OVERLAP`. */
  seen: ReadonlyMap<string, number>;
}

export const EMPTY_TAIL: Tail = {
  rows: [],
  isThinned: false,
  total: 0,
  latest: null,
  floor: 0,
  seen: new Map(),
};

const first = (event: EventRow, field: string) => valuesOf(event, field)[0] ?? '';

function keyOf(event: EventRow): string {
  return ['_time', 'host', 'source', 'index', '_raw']
    .map((field) => first(event, field))
    .join('\0');
}

/** The search of the next look; `elapsed`: seconds since the tail began. */
export function lookSearch(query: string, tail: Tail, elapsed: number): string {
  const since =
    tail.latest === null
      ? `-${Math.ceil(elapsed) + OVERLAP}s`
      : String(Math.max(tail.floor, tail.latest - OVERLAP));
  return `${query.trim() === '' ? '*' : `(${query})`} _index_earliest=${since}`;
}

/** The tail after a look that found `events`, newest first, of `count`. */
export function afterLook(tail: Tail, events: EventRow[], count: number): Tail {
  const left = new Map(tail.seen);
  const fresh: EventRow[] = [];
  let latest = tail.latest ?? 0;
  let floor = tail.latest === null ? Number.POSITIVE_INFINITY : tail.floor;
  for (const event of events) {
    const key = keyOf(event);
    const times = left.get(key) ?? 0;
    if (times > 0) left.set(key, times - 1);
    else fresh.push(event);
    const time = Number(first(event, '_indextime')) || 0;
    latest = Math.max(latest, time);
    if (tail.latest === null) floor = Math.min(floor, time);
  }
  const seen = new Map<string, number>();
  for (const event of events) {
    if ((Number(first(event, '_indextime')) || 0) < latest - OVERLAP) continue;
    const key = keyOf(event);
    seen.set(key, (seen.get(key) ?? 0) + 1);
  }
  return {
    rows: fresh.length === 0 ? tail.rows : [...fresh, ...tail.rows].slice(0, MOST_KEPT),
    isThinned: count > events.length,
    total: tail.total + fresh.length,
    latest: latest === 0 ? tail.latest : latest,
    floor: Number.isFinite(floor) ? floor : 0,
    seen,
  };
}

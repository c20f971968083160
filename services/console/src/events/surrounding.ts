/** The search for the events around one: of the same host, source and index, some time before and after. */

import type { EventRow } from '../api/types';
import { fieldName, quoted } from '../query/syntax';
import { isoTime } from '../time/zone';
import { valuesOf } from './values';

export interface Surrounding {
  search: string;
  earliest: string;
  latest: string;
}

export const WINDOWS = [
  { label: '± 5 s', seconds: 5 },
  { label: '± 30 s', seconds: 30 },
  { label: '± 5 min', seconds: 300 },
  { label: '± 1 h', seconds: 3_600 },
] as const;

const SAME = ['index', 'host', 'source'];

/** Null where the event has no time. */
export function surroundingOf(event: EventRow, seconds: number): Surrounding | null {
  const time = isoTime(valuesOf(event, '_time')[0] ?? '');
  if (time === null) return null;
  const terms = SAME.flatMap((field) => {
    const value = valuesOf(event, field)[0];
    return value === undefined || value.includes('*')
      ? []
      : [`${fieldName(field)}=${quoted(value)}`];
  });
  const bound = (epoch: number) => String(Math.round(epoch * 1_000) / 1_000);
  return {
    search: terms.join(' ') || '*',
    earliest: bound(Math.max(0, time - seconds)),
    // The end is not part of a range.
    latest: bound(time + seconds + 0.001),
  };
}

/** The place of an event in a list, which may have its times in another zone; -1 if it is not there. */
export function placeOf(event: EventRow, events: EventRow[]): number {
  const same = (one: EventRow, field: string) =>
    valuesOf(one, field).join('\u0000') === valuesOf(event, field).join('\u0000');
  const timeOf = (one: EventRow) => {
    const text = valuesOf(one, '_time')[0] ?? '';
    return isoTime(text) ?? text;
  };
  const time = timeOf(event);
  return events.findIndex(
    (one) => timeOf(one) === time && same(one, '_raw') && same(one, 'source'),
  );
}

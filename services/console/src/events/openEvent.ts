/** The event whose details are open, in the address: `event=PLACE_TIME`, where it is among the events of the job. */

import type { EventRow } from '../api/types';
import { isoTime } from '../time/zone';
import { valuesOf } from './values';

export interface OpenEvent {
  /** From 0, newest first. */
  place: number;
  /** Epoch seconds: after another run of the search, another event may be at the place. Null: it has no time. */
  time: number | null;
}

export function readOpenEvent(text: string | null): OpenEvent | null {
  const found = /^(\d{1,9})(?:_(-?\d+(?:\.\d+)?))?$/.exec(text ?? '');
  if (!found) return null;
  return { place: Number(found[1]), time: found[2] === undefined ? null : Number(found[2]) };
}

export const writeOpenEvent = ({ place, time }: OpenEvent): string =>
  time === null ? String(place) : `${place}_${time}`;

export const openEventOf = (event: EventRow, place: number): OpenEvent => ({
  place,
  time: isoTime(valuesOf(event, '_time')[0] ?? ''),
});

export const isOpenEvent = (event: EventRow, place: number, open: OpenEvent): boolean =>
  writeOpenEvent(openEventOf(event, place)) === writeOpenEvent(open);

/** Fields of an event, in the order in which people look for them. */

import type { EventRow } from '../api/types';

export function valuesOf(event: EventRow, field: string): string[] {
  const value = event[field];
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

const FIRST = ['host', 'source', 'sourcetype', 'index'];
const SHOWN_ELSEWHERE = new Set(['_raw', '_time']);

function rank(field: string): number {
  const position = FIRST.indexOf(field);
  if (position !== -1) return position;
  return field.startsWith('_') ? FIRST.length + 1 : FIRST.length;
}

/** Where the event is from, then its own fields by name, then internal ones. */
export function fieldNames(event: EventRow): string[] {
  return Object.keys(event)
    .filter((field) => !SHOWN_ELSEWHERE.has(field))
    .sort((a, b) => rank(a) - rank(b) || a.localeCompare(b));
}

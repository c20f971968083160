/** Which values of which fields are more or less frequent in one set of events than in another. */

import type { Summary } from '../api/types';

export interface Difference {
  field: string;
  value: string;
  /** Parts of the events that have the value, 0 to 1. */
  now: number;
  before: number;
}

/** Values below this part in both sets say nothing. */
const LEAST = 0.01;
/** Fields with a value of their own for nearly every event, such as times and ids, say nothing. */
const MOST_DISTINCT = 0.8;

function shares(summary: Summary): Map<string, Map<string, number>> {
  const found = new Map<string, Map<string, number>>();
  for (const field of summary.fields) {
    if (field.name.startsWith('_') || summary.eventCount === 0) continue;
    if (field.distinctCount > 20 && field.distinctCount > MOST_DISTINCT * field.count) continue;
    const values = new Map(
      field.modes.map((mode) => [mode.value, mode.count / summary.eventCount]),
    );
    found.set(field.name, values);
  }
  return found;
}

/** The largest differences first. Only the most frequent values of each set are known. */
export function differences(now: Summary, before: Summary): Difference[] {
  const [a, b] = [shares(now), shares(before)];
  const found: Difference[] = [];
  for (const field of new Set([...a.keys(), ...b.keys()])) {
    const [left, right] = [a.get(field), b.get(field)];
    for (const value of new Set([...(left?.keys() ?? []), ...(right?.keys() ?? [])])) {
      const one = { field, value, now: left?.get(value) ?? 0, before: right?.get(value) ?? 0 };
      if (Math.max(one.now, one.before) >= LEAST && one.now !== one.before) found.push(one);
    }
  }
  const size = (one: Difference) => Math.abs(one.now - one.before);
  return found.sort((x, y) => size(y) - size(x) || x.field.localeCompare(y.field));
}

/** Which values of which fields are more or less frequent in one set of events than in another. */

import type { Summary } from '../api/types';
import { percent } from '../app/format';

export interface Difference {
  field: string;
  value: string;
  /** Parts of the events that have the value, 0 to 1. */
  now: number;
  before: number;
  /** The set whose part is a bound: the value is not among its most frequent ones, and has fewer events. */
  below?: 'now' | 'before';
}

/** Values below this part in both sets say nothing. */
const LEAST = 0.01;
/** Fields with a value of their own for nearly every event, such as times and ids, say nothing. */
const MOST_DISTINCT = 0.8;

interface Field {
  parts: Map<string, number>;
  /** Below it is each value that is not listed; 0 if all are, null where it is not known. */
  bound: number | null;
}

function shares({ fields, eventCount }: Summary): Map<string, Field> {
  const found = new Map<string, Field>();
  for (const { name, modes, distinctCount, count, isExact } of fields) {
    if (name.startsWith('_') || eventCount === 0) continue;
    const parts = new Map(modes.map((mode) => [mode.value, mode.count / eventCount]));
    const isWhole = isExact && modes.length >= distinctCount;
    const least = (modes.at(-1)?.count ?? 0) / eventCount;
    const isOfIds = distinctCount > 20 && distinctCount > MOST_DISTINCT * count;
    // Also where the other set has fewer values: this one lists none of them.
    if (isOfIds) found.set(name, { parts: new Map(), bound: null });
    else found.set(name, { parts, bound: isWhole ? 0 : isExact ? least : null });
  }
  return found;
}

const NONE: Field = { parts: new Map(), bound: 0 };

/**
 * The largest differences first. Only the most frequent values of each set are known: a value that one of them lacks
 * is compared with the part that it is below, or is left out where that says nothing.
 */
export function differences(now: Summary, before: Summary): Difference[] {
  const [a, b] = [shares(now), shares(before)];
  const found: Difference[] = [];
  for (const field of new Set([...a.keys(), ...b.keys()])) {
    const [left, right] = [a.get(field) ?? NONE, b.get(field) ?? NONE];
    for (const value of new Set([...left.parts.keys(), ...right.parts.keys()])) {
      const one = left.parts.get(value) ?? left.bound;
      const other = right.parts.get(value) ?? right.bound;
      if (one === null || other === null || Math.max(one, other) < LEAST || one === other) continue;
      const isBelow = (set: Field, part: number) => part > 0 && !set.parts.has(value);
      if (isBelow(left, one)) {
        if (one < other) found.push({ field, value, now: one, before: other, below: 'now' });
      } else if (isBelow(right, other)) {
        if (other < one) found.push({ field, value, now: one, before: other, below: 'before' });
      } else found.push({ field, value, now: one, before: other });
    }
  }
  const size = (one: Difference) => Math.abs(one.now - one.before);
  return found.sort((x, y) => size(y) - size(x) || x.field.localeCompare(y.field));
}

/** A part of the events for the eye; `isBound`: the part is below it. */
export function shareText(part: number, isBound: boolean): string {
  const text = percent(part, 1);
  return isBound && !text.startsWith('<') ? `<${text}` : text;
}

/** Sorts a job's fields into those chosen, those worth a look, and the rest. */

import type { FieldSummary } from '../api/types';

/** A field in at least this share of events is interesting. */
export const INTERESTING_SHARE = 0.2;

export interface FieldGroups {
  selected: FieldSummary[];
  interesting: FieldSummary[];
  others: FieldSummary[];
}

const absent = (name: string): FieldSummary => ({
  name,
  count: 0,
  distinctCount: 0,
  isExact: true,
  numericCount: 0,
  modes: [],
});

export function groupFields(
  summary: FieldSummary[],
  selected: string[],
  filter: string,
): FieldGroups {
  const wanted = filter.trim().toLowerCase();
  const visible = (name: string) => name.toLowerCase().includes(wanted) && !name.startsWith('_');
  const known = new Map(summary.map((field) => [field.name, field]));
  // The summary may be of a sample: the field of most values stands for all of it.
  const most = Math.max(0, ...summary.map((field) => field.count));
  const rest = summary
    .filter((field) => visible(field.name) && !selected.includes(field.name) && field.count > 0)
    .sort((a, b) => a.name.localeCompare(b.name));
  const isInteresting = (field: FieldSummary) => field.count >= INTERESTING_SHARE * most;
  return {
    selected: selected.filter(visible).map((name) => known.get(name) ?? absent(name)),
    interesting: rest.filter(isInteresting),
    others: rest.filter((field) => !isInteresting(field)),
  };
}

export const isNumeric = (field: FieldSummary): boolean =>
  field.count > 0 && field.numericCount === field.count;

/** What inputs make of the values that are chosen: prefixes, delimiters, named time ranges. */

import { PRESETS } from '../../time/timeRange';
import type { Input } from '../model/types';

/** Whether an input may have several values. */
export const isMultiple = (input: Input): boolean =>
  input.kind === 'multiselect' || input.kind === 'checkbox';

/** The text that stands for the values of an input in searches; undefined for none. */
export function tokenText(input: Input, values: string[]): string | undefined {
  const { prefix, suffix, valuePrefix, valueSuffix, delimiter } = input;
  if (isMultiple(input)) {
    if (values.length === 0) return undefined;
    const parts = values.map((value) => valuePrefix + value + valueSuffix);
    return prefix + parts.join(delimiter) + suffix;
  }
  const value = values[0];
  if (value === undefined) return undefined;
  // An empty text input adds no condition, whatever stands around it.
  return value === '' ? '' : prefix + value + suffix;
}

const NAMED: Record<string, [string, string]> = {
  'previous week': ['-7d@w0', '@w0'],
  'previous business week': ['-6d@w1', '-1d@w6'],
  'previous month': ['-1mon@mon', '@mon'],
  'previous year': ['-1y@y', '@y'],
  'week to date': ['@w0', 'now'],
  'business week to date': ['@w1', 'now'],
  'month to date': ['@mon', 'now'],
  'year to date': ['@y', 'now'],
  'last 3 days': ['-3d@h', 'now'],
  'last 3 months': ['-3mon@mon', 'now'],
  'all time': ['0', ''],
};

/** The bounds of a range that a default names by its label; times.conf may name others. */
export function namedRange(
  label: string,
  times: readonly { label: string; earliest: string; latest: string }[] = [],
): [string, string] | null {
  const wanted = label.trim().toLowerCase();
  const own = times.find((time) => time.label.toLowerCase() === wanted);
  if (own) return [own.earliest, own.latest];
  const preset = PRESETS.find((candidate) => candidate.label.toLowerCase() === wanted);
  if (preset) return [preset.range.earliest, preset.range.latest];
  return NAMED[wanted] ?? null;
}

/** The values that an input begins with; null where nothing is said. */
export function initialValues(
  input: Input,
  times: readonly { label: string; earliest: string; latest: string }[] = [],
): string[] | null {
  const values = input.initial ?? input.default;
  if (values === null) {
    // Without a token it is the range of the page, which is all time unless something is chosen.
    return input.kind === 'time' ? ['0', ''] : null;
  }
  if (input.kind === 'time' && values.length === 1) {
    return namedRange(values[0] ?? '', times) ?? ['0', ''];
  }
  if (values.length === 1 && !isMultiple(input)) return [valueOfChoice(input, values[0] ?? '')];
  return values.map((value) => valueOfChoice(input, value));
}

/** A default may be written as the label of a choice. */
function valueOfChoice(input: Input, value: string): string {
  if (input.choices.some((choice) => choice.value === value)) return value;
  return input.choices.find((choice) => choice.label === value)?.value ?? value;
}

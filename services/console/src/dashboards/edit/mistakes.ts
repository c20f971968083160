/** What is wrong with what is typed into a field, in words that say what to enter; null for nothing. */

import { colorOf } from '../model/values';
import { evaluate } from '../runtime/expression';

export interface NumberRange {
  least?: number;
  most?: number;
  isWhole?: boolean;
}

export function numberMistake(text: string, range: NumberRange = {}): string | null {
  const number = text.trim() === '' ? Number.NaN : Number(text);
  const { least = Number.NEGATIVE_INFINITY, most = Number.POSITIVE_INFINITY, isWhole } = range;
  const isGood =
    Number.isFinite(number) &&
    number >= least &&
    number <= most &&
    (!isWhole || Number.isInteger(number));
  if (isGood) return null;
  const between =
    Number.isFinite(least) && Number.isFinite(most) ? ` from ${least} to ${most}` : '';
  return `Enter a ${isWhole ? 'whole ' : ''}number${between}`;
}

/** Hexadecimal digits or a name: both can be mixed, and a text on them can be read. */
export const colorMistake = (text: string): string | null =>
  colorOf(text)?.startsWith('#') ? null : 'Enter a colour: #53A051, or a name such as red';

/** Of numbers that ascend: for each its mistake. */
export function ascendingMistakes(numbers: readonly string[]): (string | null)[] {
  return numbers.map((text, at) => {
    const mistake = numberMistake(text);
    const before = numbers[at - 1];
    if (mistake || before === undefined || numberMistake(before)) return mistake;
    return Number(text) > Number(before) ? null : `Enter a number greater than ${before.trim()}`;
  });
}

/** Of values that have a colour each: for each its mistake. */
export const valueMistakes = (values: readonly string[]): (string | null)[] =>
  values.map((value, at) => {
    if (value === '') return 'Enter a value';
    if (/".*'|'.*"/s.test(value)) return 'Enter a value with one kind of quotes';
    return values.indexOf(value) === at ? null : `${value} has a colour above`;
  });

/** Of an expression over `value`. */
export function expressionMistake(text: string): string | null {
  try {
    evaluate(text, (name) => (name === 'value' ? '1' : undefined));
    return null;
  } catch (error) {
    return `Enter an expression: ${error instanceof Error ? error.message : String(error)}`;
  }
}

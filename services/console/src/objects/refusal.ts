/** Which field of a form the server has refused. */

import type { Field, Values } from './kind';

/** What stands in front of the subject of a message. */
const LEAD = /^(?:(?:the|an?|parameter|argument|invalid|unknown|bad)\s+)*/i;

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/**
 * The field that a message is about, by its parameter or its label, with the label in place of the parameter:
 * `the parameter "tz" ...` gives `Time zone ...`; else by its value in the refused form: `"/var/lgo" does not exist`.
 * Null for messages about something else.
 */
export function refusedField(
  fields: Field[],
  message: string,
  values: Values = {},
): { name: string; text: string } | null {
  const lead = LEAD.exec(message)?.[0] ?? '';
  const rest = message.slice(lead.length);
  const kept = /(?:invalid|unknown|bad)\s+$/i.exec(lead)?.[0] ?? '';
  for (const { name, label } of fields) {
    const isNext = (word: string) =>
      rest.toLowerCase().startsWith(word.toLowerCase()) && !/^[\w.-]/.test(rest.slice(word.length));
    const word = [`"${name}"`, name, label].find(isNext);
    if (word !== undefined) {
      const called = kept === '' ? label : label.toLowerCase();
      return { name, text: capital(kept + called + rest.slice(word.length)) };
    }
  }
  const quoted = fields.filter(
    ({ name, kind }) => kind !== 'password' && hasValue(message, values[name]),
  );
  const [only] = quoted;
  if (only && quoted.length === 1) return { name: only.name, text: capital(message) };
  const named = fields.find(({ name }) => message.includes(`(${name})`));
  return named
    ? { name: named.name, text: capital(message.replace(` (${named.name})`, '')) }
    : null;
}

/** Whether a message quotes a value: `"x"`, `name=x`, `tcp://0.0.0.0:x`. */
function hasValue(message: string, value: Values[string] | undefined): boolean {
  const text = typeof value === 'string' ? value.trim() : '';
  if (text === '') return false;
  for (let at = message.indexOf(text); at !== -1; at = message.indexOf(text, at + 1)) {
    const isBegin = /["=:/]$/.test(message.slice(0, at));
    if (isBegin && /^(?:["\s,;:)]|$)/.test(message.slice(at + text.length))) return true;
  }
  return false;
}

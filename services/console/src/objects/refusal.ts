/** Which field of a form the server has refused. */

import type { Field } from './kind';

/** What stands in front of the subject of a message. */
const LEAD = /^(?:(?:the|an?|parameter|argument|invalid|unknown|bad)\s+)*/i;

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/**
 * The field that a message is about, by its parameter or its label, with the label in place of the parameter:
 * `the parameter "tz" ...` gives `Time zone ...`. Null for messages about something else.
 */
export function refusedField(
  fields: Field[],
  message: string,
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
  const named = fields.find(({ name }) => message.includes(`(${name})`));
  return named
    ? { name: named.name, text: capital(message.replace(` (${named.name})`, '')) }
    : null;
}

/**
 * From an object to the values of its form, and from these to a request.
 * Guarantees that a change sends only what was changed, so that it does not undo what somebody else did.
 */

import type { Entry, Me } from '../api/types';
import { type Field, type Form, isTrue, type Value, type Values } from './kind';

export const fieldsFor = (fields: Field[], isNew: boolean): Field[] =>
  fields.filter(
    (field) => (field.when ?? (isNew ? 'new' : 'existing')) === (isNew ? 'new' : 'existing'),
  );

/** The fields that a user sees, read-only where the server would refuse a change; `me`: null until it is known who that is. */
export const fieldsOf = (fields: Field[], me: Me | null, entry: Entry | null): Field[] =>
  fieldsFor(fields, entry === null)
    .filter(({ isFor }) => !isFor || (me !== null && isFor(me, entry)))
    .map((field) => (isRefused(field, me) ? { ...field, isReadOnly: true } : field));

const isRefused = ({ capability }: Field, me: Me | null): boolean =>
  capability !== undefined && me !== null && !me.capabilities.has(capability);

const words = (value: unknown): string[] => {
  if (Array.isArray(value)) return value.map(String);
  if (value === null || value === undefined || value === '') return [];
  return String(value)
    .split(/[,;]/)
    .map((word) => word.trim())
    .filter(Boolean);
};

function formValue(field: Field, entry: Entry): Value {
  const value = field.read ? field.read(entry) : entry.content[field.name];
  switch (field.kind) {
    case 'switch':
      return isTrue(value);
    case 'checks':
      return words(value);
    case 'list':
      return words(value).join(', ');
    case 'password':
      return '';
    case 'number': {
      const number = Number(value);
      if (value === '' || value === null || value === undefined || Number.isNaN(number)) return '';
      if (field.endless !== undefined && number >= field.endless) return '';
      return String(field.scale ? number / field.scale : number);
    }
    default:
      return value === null || value === undefined ? '' : String(value);
  }
}

function emptyOf(field: Field): Value {
  if (field.initial !== undefined) return field.initial;
  if (field.kind === 'switch') return false;
  if (field.kind === 'checks') return [];
  return field.kind === 'choice' ? (field.options?.[0]?.value ?? '') : '';
}

export function initialValues(fields: Field[], entry: Entry | null): Values {
  return Object.fromEntries(
    fields.map((field) => [field.name, entry ? formValue(field, entry) : emptyOf(field)]),
  );
}

/** `Roles` of several choices are one `role` at least. */
const missing = ({ kind, label }: Field): string =>
  kind === 'checks'
    ? `Choose at least one ${label.toLowerCase().replace(/(x|s)es$|s$/, '$1')}`
    : `${label} is missing`;

/**
 * What is wrong with the values, by the names of their fields. `before`: the values of an existing object; those that
 * the server has accepted are not checked again, because only changed values are sent.
 */
export function problemsOf(
  fields: Field[],
  values: Values,
  before: Values | null = null,
): Map<string, string> {
  const problems = new Map<string, string>();
  const isKept = (name: string) => before !== null && same(values[name], before[name]);
  for (const field of fields) {
    const value = values[field.name] ?? '';
    const isEmpty = Array.isArray(value) ? value.length === 0 : String(value).trim() === '';
    const isSet = (name: string) => (values[name] || '') !== '';
    const isNeeded =
      field.isRequired ||
      (field.neededBy !== undefined && isSet(field.neededBy)) ||
      (before === null && field.neededWithout !== undefined && !isSet(field.neededWithout));
    if (isNeeded && isEmpty) problems.set(field.name, missing(field));
    if (isEmpty || typeof value !== 'string') continue;
    if ([field.name, ...(field.checkedWith ?? [])].every(isKept)) continue;
    if (field.kind === 'number') {
      const number = Number(value);
      if (!Number.isFinite(number)) problems.set(field.name, `"${value}" is not a number`);
      else if (number < (field.least ?? 0)) {
        problems.set(field.name, `${field.label} is at least ${field.least ?? 0}`);
      } else if (field.most !== undefined && number > field.most) {
        problems.set(field.name, `${field.label} is at most ${field.most}`);
      }
    }
    const found = field.check?.(value, values);
    if (found) problems.set(field.name, found);
  }
  return problems;
}

function sent(field: Field, value: Value): string | string[] {
  if (typeof value === 'boolean') return value ? '1' : '0';
  // An empty list has to be said, or it would be left as it is.
  if (Array.isArray(value)) return value.length > 0 ? value : '';
  if (field.kind === 'list') {
    const list = words(value);
    return list.length > 0 ? list : '';
  }
  if (field.endless !== undefined && value === '') return String(field.endless);
  if (field.kind === 'number' && value !== '' && field.scale) {
    return String(Math.round(Number(value) * field.scale));
  }
  return value;
}

const same = (a: Value | undefined, b: Value | undefined) =>
  JSON.stringify(Array.isArray(a) ? [...a].sort() : a) ===
  JSON.stringify(Array.isArray(b) ? [...b].sort() : b);

/** The parameters of a new object: all that is not empty; of an existing one: all that was changed. */
export function formOf(fields: Field[], values: Values, entry: Entry | null): Form {
  const before = entry ? initialValues(fields, entry) : {};
  const form: Form = {};
  for (const field of fields) {
    const value = values[field.name] ?? emptyOf(field);
    const text = sent(field, value);
    const isSent = entry ? !same(value, before[field.name]) : value !== '' && text.length > 0;
    if (isSent) form[field.name] = text;
  }
  return form;
}

/** Values of a new object that an address gives, such as `?kind=udp`. */
export function givenValues(fields: Field[], query: URLSearchParams): Values {
  const given = fields.filter(({ kind }) => kind === 'text' || kind === 'choice');
  return Object.fromEntries(
    given.flatMap(({ name, options }) => {
      const value = query.get(name);
      const isKnown = !options || options.some((option) => option.value === value);
      return value !== null && isKnown ? [[name, value]] : [];
    }),
  );
}

/** Values of a new object that is a copy. Its name is what the field reads, if it does. */
export function copyOf(fields: Field[], entry: Entry): Values {
  const ofNew = fieldsFor(fields, true);
  const isNamed = ofNew.some(({ name, read }) => name === 'name' && read !== undefined);
  const values = initialValues(ofNew, entry);
  return isNamed ? values : { ...values, name: `${entry.name} copy` };
}

/** Whether the form has other values than it was opened with. A field that is shown only later has none in both. */
export const isFilledIn = (fields: Field[], values: Values, before: Values): boolean =>
  fields.some(({ name }) => !same(values[name], before[name]));

/** Fields that a request would change, and that somebody else has changed to something else since `base` was read. */
export function changedMeanwhile(fields: Field[], form: Form, base: Entry, now: Entry): Field[] {
  const before = initialValues(fields, base);
  const after = initialValues(fields, now);
  return fields.filter((field) => {
    const theirs = after[field.name] ?? '';
    const wanted = form[field.name];
    const isOther = JSON.stringify(sent(field, theirs)) !== JSON.stringify(wanted);
    return wanted !== undefined && isOther && !same(before[field.name], theirs);
  });
}

export interface Option {
  value: string;
  label: string;
}

/** The choices with those that an object has and the server does not list, which stay visible. */
export const withUnlisted = (options: Option[], chosen: string[]): Option[] => [
  ...options,
  ...chosen
    .filter((one) => !options.some(({ value }) => value === one))
    .map((value) => ({ value, label: value })),
];

/** What a choice offers: an empty one first, if the field has it. */
export function choicesOf({ none, source }: Field, options: Option[], chosen: string): Option[] {
  const first = none === undefined ? [] : [{ value: '', label: none }];
  const isUnlisted = source !== undefined && chosen !== '';
  return [...first, ...withUnlisted(options, isUnlisted ? [chosen] : [])];
}

/** Keeps an order, with names of internal indexes at the end: data of users does not go there. */
export const internalLast = (a: string, b: string): number =>
  Number(a.startsWith('_')) - Number(b.startsWith('_'));

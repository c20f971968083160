/** What a page of objects needs to know of its kind: where they are, their columns, their form. */

import type { Entry, Me } from '../api/types';

export type FieldKind =
  | 'text'
  | 'area'
  | 'number'
  | 'switch'
  | 'choice'
  | 'list'
  | 'checks'
  | 'password';

/** Lists that the server has, to choose from. */
export type Source = 'roles' | 'indexes' | 'capabilities' | 'apps' | 'lookupFiles' | 'lookups';

export interface Field {
  /** The parameter of the request, and the key of the content. */
  name: string;
  label: string;
  kind: FieldKind;
  help?: string;
  isRequired?: boolean;
  /** Only in the form of a new object, or only in that of an existing one. */
  when?: 'new' | 'existing';
  options?: { value: string; label: string }[];
  source?: Source;
  /** The first choice, with an empty value. */
  none?: string;
  initial?: string | string[] | boolean;
  /** One of the form is this many of the server: 86,400 for days of seconds. */
  scale?: number;
  least?: number;
  most?: number;
  /** The number of the server from which on there is no limit: the form shows and takes an empty field for it. */
  endless?: number;
  /** The value of an object, if it is not the one of its content with this name. */
  read?: (entry: Entry) => unknown;
  /** What the user needs to change it; others see the value. */
  capability?: string;
  isReadOnly?: boolean;
  /** Who sees it; by default everybody. */
  isFor?: (me: Me, entry: Entry | null) => boolean;
  /** Another field, by its name: with a value there, or if it is switched on, one is needed here, too. */
  neededBy?: string;
  /** Another field of a new object, by its name: without a value there, one is needed here. */
  neededWithout?: string;
  /** What browsers may fill in for a password; by default nothing that they know. */
  autoComplete?: string;
  /** Why a text is wrong, among the other values of the form. */
  check?: (text: string, values: Values) => string | null;
  /** Other fields that the check reads, by their names: it runs again if one of them was changed. */
  checkedWith?: string[];
}

export interface Column {
  label: string;
  text: (entry: Entry) => string;
  isNumeric?: boolean;
  isCode?: boolean;
}

export interface Kind {
  title: string;
  /** One of them, within a sentence. */
  noun: string;
  about: string;
  /** The collection, `/services/...`. */
  path: string;
  /** Whether its objects belong to apps and owners. */
  isOfApps: boolean;
  /** What a user needs to create, change and remove them. */
  capability: string;
  columns: Column[];
  fields: Field[];
  /** What is gone after a removal. */
  loss: (entry: Entry) => string;
  /** Whether a removal asks for the name. */
  isRemovalTyped?: boolean;
  isRemovable?: (entry: Entry) => boolean;
  isShown?: (entry: Entry) => boolean;
  /** Further things to do with one. */
  actions?: (entry: Entry) => Action[];
  /** A secret that is shown once, after the object was made or changed so. */
  secret?: (entry: Entry) => { label: string; value: string; note: string } | null;
  /** Parameters of a new object besides those of the form. */
  more?: Form;
  /** The request for a new object or a change, where it is not the form itself; `path`: where the form goes. */
  request?: (form: Form, entry: Entry | null, path: string) => { path: string; form: Form };
  /** The address to which the creation of one leads, if it is not the list. */
  after?: (values: Values) => string;
  /** Where one is removed, if it is not its own path. */
  removal?: (entry: Entry) => string;
  /** Whether one can be copied: only if the form has all of its settings. */
  isCopied?: boolean;
  /** The search that shows what one does; null for one without such a search. */
  search?: (entry: Entry) => string | null;
  /** The object with its permissions, if it is another one, and to what else they apply. */
  permissions?: (entry: Entry) => { path: string; note: string };
}

export interface Action {
  label: string;
  path: string;
  form?: Form;
}

export type Form = Record<string, string | string[]>;
export type Value = string | string[] | boolean;
export type Values = Record<string, Value>;

const asText = (value: unknown): string =>
  value === null || value === undefined ? '' : String(value);

/** A value of the content as text; lists with commas. */
export function contentText(entry: Entry, name: string): string {
  const value = entry.content[name];
  return Array.isArray(value) ? value.map(asText).join(', ') : asText(value);
}

export const isTrue = (value: unknown): boolean =>
  value === true || value === 1 || value === '1' || value === 'true';

/** Reads a switch that is on where the object does not say anything. */
export const isOnByDefault =
  (name: string) =>
  ({ content }: Entry): unknown =>
    content[name] ?? true;

/** A column with a value of the content as it is. */
export const column = (
  label: string,
  name: string,
  more: { isNumeric?: boolean; isCode?: boolean } = {},
): Column => ({ label, text: (entry: Entry) => contentText(entry, name), ...more });

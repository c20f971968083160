/** Where clicks lead: links of drilldowns, and the search behind a value that has none. */

import { effectOf } from './effects';
import { type Lookup, substitute } from './tokens';

export interface Click {
  /** The first column or the category, and its value. */
  name: string;
  value: string;
  /** The column or the series that was clicked, and its value. */
  name2: string;
  value2: string;
  row: ReadonlyMap<string, string>;
  /** The panel of a trellis: the field that it is split by, and the value of the panel. */
  trellis?: { name: string; value: string };
  /** Further tokens, such as those of a place on a map. */
  tokens?: ReadonlyMap<string, string>;
  /** The span of a time bar. */
  earliest?: string;
  latest?: string;
}

/** `click.name`, `row.FIELD`, `earliest`: what handlers of a click see before the tokens of the page. */
export function clickLookup(click: Click, page: Lookup, range: Bounds): Lookup {
  return (name) => {
    switch (name) {
      case 'click.name':
        return click.name;
      case 'click.value':
        return click.value;
      case 'click.name2':
        return click.name2;
      case 'click.value2':
        return click.value2;
      case 'trellis.name':
        return click.trellis?.name ?? click.name2;
      case 'trellis.value':
        return click.trellis?.value ?? click.value2;
      case 'earliest':
        return click.earliest ?? (range.earliest || '0');
      case 'latest':
        return click.latest ?? range.latest;
    }
    const further = click.tokens?.get(name);
    if (further !== undefined) return further;
    if (name.startsWith('row.')) return click.row.get(name.slice(4));
    return page(name);
  };
}

export interface Bounds {
  earliest: string;
  latest: string;
}

/** The address of a link; null for what is none, or may not be followed. */
export function linkAddress(href: string, lookup: Lookup, app: string): string | null {
  const trimmed = href.trim().replace(/^\s+|\s+$/g, '');
  // An address that is a token as a whole is an address already.
  const isWhole = /^\$[^$]+\$$/.test(trimmed);
  const found = substitute(trimmed, lookup, isWhole ? 'n' : 'u');
  return safeAddress(found.text.replace(/[\r\n\t]+\s*/g, ''), app);
}

/** Only pages of the console and of the web: no scripts, no data. */
export function safeAddress(text: string, app: string): string | null {
  const address = text.trim();
  if (address === '') return null;
  if (/^https?:\/\//i.test(address)) {
    try {
      return new URL(address).href;
    } catch {
      return null;
    }
  }
  if (
    /^[a-z][a-z0-9+.-]*:/i.test(address) ||
    address.startsWith('//') ||
    address.startsWith('\\')
  ) {
    return null;
  }
  if (address.startsWith('/')) return address.replace(/^\/[a-z]{2}[-_][A-Z]{2}(?=\/)/, '');
  if (address.startsWith('?') || address.startsWith('#')) return address;
  // A page of the app.
  return `/app/${encodeURIComponent(app)}/${address.replace(/^\.\//, '')}`;
}

export const isExternal = (address: string): boolean => /^https?:\/\//i.test(address);

/** The address of the search page. */
export function searchAddress(app: string, search: string, { earliest, latest }: Bounds): string {
  const query = new URLSearchParams({ q: search });
  query.set('earliest', earliest);
  query.set('latest', latest);
  return `/app/${encodeURIComponent(app)}/search?${query}`;
}

/** The commands of a search, split at the pipes that are in no quotes and no brackets. */
export function commandsOf(search: string): string[] {
  const parts: string[] = [];
  let from = 0;
  let depth = 0;
  let quote = '';
  for (let at = 0; at < search.length; at += 1) {
    const char = search[at] ?? '';
    if (quote !== '') {
      if (char === '\\') at += 1;
      else if (char === quote) quote = '';
    } else if (char === '"') quote = char;
    else if (char === '[' || char === '(') depth += 1;
    else if (char === ']' || char === ')') depth -= 1;
    else if (char === '|' && depth <= 0) {
      parts.push(search.slice(from, at));
      from = at + 1;
    }
  }
  parts.push(search.slice(from));
  return parts.map((part) => part.trim());
}

const quoted = (text: string) => `"${text.replace(/\\/g, '\\\\').replace(/"/g, '\\"')}"`;

/** Whether a search makes its own rows, and its first command that belongs to a report, or their number. */
export function behindEvents(commands: string[]): { isGenerated: boolean; cut: number } {
  const isGenerated = commands[0] === '' && commands.length > 1;
  if (isGenerated) return { isGenerated, cut: 1 };
  const from = commands.findIndex((command, at) => at > 0 && effectOf(command) !== null);
  if (from === -1) return { isGenerated, cut: commands.length };
  const behind = commands.slice(from);
  const ends = behind.findIndex((command) => !['events', null].includes(effectOf(command)));
  const before = ends === -1 ? behind : behind.slice(0, ends);
  // `dedup`, `sort` and the like are left out, unless filters or new fields behind them need what they leave.
  const isAlone = before.every(
    (command) => effectOf(command) === 'events' || /^(?:rename|fields)\b/i.test(command),
  );
  return { isGenerated, cut: isAlone ? from : from + before.length };
}

const fieldText = (name: string) => (/^[\w.]+$/.test(name) ? name : quoted(name));

/** One of the values. */
function conditionOf(name: string, values: readonly string[]): string {
  const each = values.map((value) => `${fieldText(name)}=${quoted(value)}`).join(' OR ');
  return values.length > 1 ? `(${each})` : each;
}

/**
 * The events behind a value: the search up to its first report, with the values as conditions. `absent`: a field
 * that they lack.
 */
export function eventsBehind(
  search: string,
  terms: readonly (readonly [string, ...string[]])[],
  absent = '',
): string {
  const commands = commandsOf(search);
  const { isGenerated, cut } = behindEvents(commands);
  const conditions = terms
    .filter(([name, value]) => name !== '' && !name.startsWith('_') && value !== '')
    .map(([name, ...values]) => conditionOf(name, values))
    .concat(absent === '' ? [] : `NOT ${fieldText(absent)}=*`)
    .join(' ');
  if (isGenerated) {
    return conditions === '' ? search.trim() : `${search.trim()} | search ${conditions}`;
  }
  const kept = commands.slice(0, cut);
  const base = kept.join(' | ');
  if (conditions === '') return base;
  return kept.length === 1 ? `${base} ${conditions}` : `${base} | search ${conditions}`;
}

/**
 * What a click leads to, by form: the links, tokens and conditions of `<drilldown>`. Of a link, only the part
 * that is changed is written; its other parts stay in their spelling.
 */

import { childOf, elementsOf, type XmlElement } from '../model/xml';
import type { FormField } from './fields';
import { FIELDS, readField, writeField } from './fields';
import { elementAt, escaped, inserted, removed, sourceOf, withText } from './source';

export type ActionKind = 'search' | 'dashboard' | 'address' | 'set' | 'unset' | 'eval';

export const ACTION_NAMES: Record<ActionKind, string> = {
  search: 'Opens a search',
  dashboard: 'Opens a dashboard',
  address: 'Opens an address',
  set: 'Sets a token',
  unset: 'Removes a token',
  eval: 'Computes a token',
};

const ACTIONS = new Set(['link', 'set', 'unset', 'eval']);

/** The actions of a drilldown or of one of its conditions. */
export const actionsOf = (handler: XmlElement): XmlElement[] =>
  elementsOf(handler).filter((child) => ACTIONS.has(child.name));

export interface Link {
  kind: 'search' | 'dashboard' | 'address';
  /** Of a dashboard or search; empty: the app of the page. */
  app: string;
  view: string;
  /** In their order, decoded. */
  parameters: [name: string, value: string][];
}

const PAGE =
  /^(?:\/(?:[a-z]{2}[-_][A-Z]{2}\/)?app\/([^/?#\s]+)\/([^/?#\s]+)|([\w.-]+))\s*(?:\?([\s\S]*))?$/;

/** Line ends are of the layout of the file. */
const flat = (text: string) => text.replace(/[\r\n\t]+\s*/g, '');

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

/** A value of an address; its tokens stay readable. */
const encoded = (text: string): string =>
  text
    .split(/(\$\$|\$[^$\s]+\$)/)
    .map((part) => (part.startsWith('$') && part.length > 1 ? part : encodeURIComponent(part)))
    .join('');

export function readLink(href: string): Link {
  const found = PAGE.exec(flat(href).trim());
  if (!found) return { kind: 'address', app: '', view: '', parameters: [] };
  const view = decoded(found[2] ?? found[3] ?? '');
  const parameters = (found[4] ?? '')
    .split('&')
    .filter((part) => part !== '')
    .map((part): [string, string] => {
      const [name = '', ...rest] = part.split('=');
      return [decoded(name), decoded(rest.join('='))];
    });
  return {
    kind: view === 'search' ? 'search' : 'dashboard',
    app: decoded(found[1] ?? ''),
    view,
    parameters,
  };
}

/** The place of the nth parameter in an address, from its name to its end. */
function parameterAt(href: string, at: number): [number, number] | null {
  let from = href.indexOf('?') + 1;
  if (from === 0) return null;
  for (let count = 0; from <= href.length; count += 1) {
    const next = href.indexOf('&', from);
    const to = next === -1 ? href.length : next;
    // What is empty is none, as when it is read.
    if (flat(href.slice(from, to)) === '') count -= 1;
    else if (count === at) return [from, to];
    if (next === -1) return null;
    from = next + 1;
  }
  return null;
}

/** Sets the nth parameter; null removes it, one more than there are adds it. */
export function withParameter(
  href: string,
  at: number,
  parameter: readonly [name: string, value: string] | null,
): string {
  const written = parameter && `${encoded(parameter[0])}=${encoded(parameter[1])}`;
  const place = parameterAt(href, at);
  if (!place) {
    if (!written) return href;
    const kept = href.trimEnd();
    return `${kept}${kept.includes('?') ? (/[?&]$/.test(kept) ? '' : '&') : '?'}${written}`;
  }
  const [from, to] = place;
  if (written) {
    const known = readLink(href).parameters[at];
    const isSame = known?.[0] === parameter[0] && known[1] === parameter[1];
    return isSame ? href : href.slice(0, from) + written + href.slice(to);
  }
  return href[to] === '&'
    ? href.slice(0, from) + href.slice(to + 1)
    : href.slice(0, from - 1) + href.slice(to);
}

/** Sets a parameter by its name; an empty value removes it. */
export function withNamed(href: string, name: string, value: string): string {
  const { parameters } = readLink(href);
  const at = parameters.findIndex(([known]) => known === name);
  if (at === -1 && value === '') return href;
  return withParameter(
    href,
    at === -1 ? parameters.length : at,
    value === '' ? null : [name, value],
  );
}

/** Another page of the same kind, with the parameters that stand there. */
export function withView(href: string, app: string, view: string): string {
  const query = href.indexOf('?');
  return `/app/${encodeURIComponent(app)}/${encodeURIComponent(view)}${query === -1 ? '' : href.slice(query)}`;
}

function actionXml(kind: ActionKind, app: string): string {
  const link = (href: string) => `<link target="_blank">${escaped(href)}</link>`;
  const range = 'earliest=$earliest$&latest=$latest$';
  switch (kind) {
    case 'search':
      return link(
        `/app/${encodeURIComponent(app)}/search?q=index%3D*%20%22$click.value$%22&${range}`,
      );
    case 'dashboard':
      return link(`/app/${encodeURIComponent(app)}/dashboard?form.field=$click.value$`);
    case 'address':
      return link('https://example.com/?q=$click.value$');
    case 'set':
      return '<set token="clicked">$click.value$</set>';
    case 'unset':
      return '<unset token="clicked"></unset>';
    default:
      return '<eval token="clicked">lower($click.value$)</eval>';
  }
}

/** A new action at the end of a drilldown or a condition. */
export function withAction(text: string, place: number, kind: ActionKind, app: string): string {
  const source = sourceOf(text);
  const handler = elementAt(source, place);
  if (!handler) return text;
  // Conditions stay at the end: what always happens is read in front of them.
  const condition = handler.name === 'drilldown' ? childOf(handler, 'condition') : undefined;
  return inserted(source, handler, actionXml(kind, app), condition ?? null);
}

/** A drilldown with its first action; the option that switches clicks off goes, as it would switch it off, too. */
export function withDrilldown(text: string, place: number, kind: ActionKind, app: string): string {
  const source = sourceOf(text);
  const element = elementAt(source, place);
  if (!element) return text;
  const inner = actionXml(kind, app);
  const next = inserted(source, element, `<drilldown>\n  ${inner}\n</drilldown>`);
  const field = FIELDS[element.name]?.find(({ label }) => label === 'A click');
  if (!field || (readField(element, field) ?? field.usual) !== 'none') return next;
  return writeField(next, place, field, field.usual === 'none' ? 'all' : field.usual);
}

/** A condition for a column, or the series, at the end. */
export function withCondition(text: string, place: number, column: string): string {
  const source = sourceOf(text);
  const handler = elementAt(source, place);
  if (!handler) return text;
  const field = escaped(column).replaceAll('"', '&quot;');
  return inserted(
    source,
    handler,
    `<condition field="${field}">\n  <set token="clicked">$click.value2$</set>\n</condition>`,
  );
}

export function withHref(text: string, place: number, href: string): string {
  const source = sourceOf(text);
  const link = elementAt(source, place);
  return link ? withText(source, link, href) : text;
}

/** An action or a condition goes; with the last one, the drilldown. */
export function withoutAction(text: string, handler: number, action: number): string {
  const source = sourceOf(text);
  const element = elementAt(source, action);
  const drilldown = elementAt(source, handler);
  if (!element || !drilldown) return text;
  const isLast = drilldown.name === 'drilldown' && elementsOf(drilldown).length === 1;
  return removed(source, isLast ? drilldown : element);
}

export const NEW_TAB: FormField = {
  label: 'In a new tab',
  kind: 'choice',
  at: { attribute: 'target' },
  choices: { '': 'No', _blank: 'Yes' },
  usual: '',
};

export const CONDITION: FormField[] = [
  { label: 'Column', kind: 'text', at: { attribute: 'field' }, usual: '', help: '*: any' },
  {
    label: 'Only if',
    kind: 'text',
    at: { attribute: 'match' },
    usual: '',
    help: 'An expression: \'$click.value$\' == "x"',
  },
];

const token: FormField = { label: 'Token', kind: 'text', at: { attribute: 'token' }, usual: '' };
const VALUE_HELP = '$click.value$, $click.name2$, $row.FIELD$';

export const ACTION_FIELDS: Record<string, FormField[]> = {
  set: [token, { label: 'Value', kind: 'text', at: 'text', usual: '', help: VALUE_HELP }],
  unset: [token],
  eval: [token, { label: 'Expression', kind: 'text', at: 'text', usual: '' }],
};

/**
 * What a click leads to, by form: the links, tokens and conditions of `<drilldown>`. Of a link, only the part
 * that is changed is written; its other parts stay in their spelling.
 */

import {
  drilldownNames,
  drilldownOption,
  hasEventsBehind,
  showsEventsBehind,
} from '../model/drilldownOption';
import { readOptions } from '../model/readOptions';
import { childOf, childrenOf, elementsOf, textOf, type XmlElement } from '../model/xml';
import type { FormField } from './fields';
import {
  elementAt,
  escaped,
  inserted,
  parentOf,
  removed,
  sourceOf,
  withOption,
  withText,
} from './source';

export type ActionKind = 'search' | 'dashboard' | 'address' | 'set' | 'unset' | 'eval';

export const ACTION_NAMES: Record<ActionKind, string> = {
  search: 'Link to search',
  dashboard: 'Link to dashboard',
  address: 'Link to custom URL',
  set: 'Set token',
  unset: 'Unset token',
  eval: 'Eval token',
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

/** The address of a new link. */
function firstHref(kind: Link['kind'], app: string): string {
  switch (kind) {
    case 'search':
      return `/app/${encodeURIComponent(app)}/search?q=index%3D*%20%22$click.value$%22&earliest=$earliest$&latest=$latest$`;
    case 'dashboard':
      return `/app/${encodeURIComponent(app)}/dashboard?form.field=$click.value$`;
    default:
      return 'https://example.com/?q=$click.value$';
  }
}

function actionXml(kind: ActionKind, app: string): string {
  switch (kind) {
    case 'search':
    case 'dashboard':
    case 'address':
      return `<link target="_blank">${escaped(firstHref(kind, app))}</link>`;
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

/**
 * What a click does, in one word: nothing, a search for the events behind the value (`auto`), one link, or
 * tokens. `several`: links beside other actions, or conditions.
 */
export type OnClick = 'none' | 'auto' | Link['kind'] | 'tokens' | 'several';

export const ON_CLICK: Record<Exclude<OnClick, 'several'>, string> = {
  none: 'No action',
  auto: 'Link to search (auto)',
  search: 'Link to search (custom)',
  dashboard: 'Link to dashboard',
  address: 'Link to custom URL',
  tokens: 'Manage tokens on this dashboard',
};

export function onClickOf(element: XmlElement): OnClick {
  const drilldown = childOf(element, 'drilldown');
  const actions = drilldown ? actionsOf(drilldown) : [];
  if (drilldown && childrenOf(drilldown, 'condition').length > 0) return 'several';
  const [first] = actions;
  if (!first) return showsEventsBehind(element.name, readOptions(element)) ? 'auto' : 'none';
  if (actions.every(({ name }) => name !== 'link')) return 'tokens';
  return actions.length === 1 ? readLink(textOf(first)).kind : 'several';
}

/** What an element may do on a click. */
export const onClickChoices = (element: XmlElement): (keyof typeof ON_CLICK)[] => {
  const all = Object.keys(ON_CLICK) as (keyof typeof ON_CLICK)[];
  const hasAuto = hasEventsBehind(element.name, readOptions(element));
  return hasAuto ? all : all.filter((one) => one !== 'auto');
};

/** Something else on a click: a lone link keeps its attributes, and comments stay where there is a drilldown. */
export function withOnClick(
  text: string,
  place: number,
  next: keyof typeof ON_CLICK,
  app: string,
): string {
  const element = elementAt(sourceOf(text), place);
  if (!element) return text;
  const drilldown = childOf(element, 'drilldown');
  if (next === 'none' || next === 'auto') {
    const bare = drilldown ? withoutDrilldown(text, drilldown.start) : text;
    return withSwitch(bare, place, next === 'auto');
  }
  const kind = next === 'tokens' ? 'set' : next;
  if (!drilldown) return withDrilldown(text, place, kind, app);
  const actions = actionsOf(drilldown);
  const [first] = actions;
  if (first?.name === 'link' && actions.length === 1 && next !== 'tokens') {
    return withHref(text, first.start, firstHref(next, app));
  }
  const cleared = [...actions]
    .reverse()
    .reduce((now, action) => removed(sourceOf(now), action), text);
  return withSwitch(withAction(cleared, drilldown.start, kind, app), place, true);
}

/** Writes the option that switches clicks on or off, where it does not do so yet. */
function withSwitch(text: string, place: number, isOn: boolean): string {
  const source = sourceOf(text);
  const element = elementAt(source, place);
  if (!element) return text;
  const { name } = element;
  const options = readOptions(element);
  const names = drilldownNames(name, options);
  const isWritten = names.some((one) => options.has(one));
  const wasOn = drilldownOption(name, options) !== 'none';
  if (isOn === wasOn && (isOn || isWritten)) return text;
  const on = name === 'table' ? 'cell' : name === 'event' ? 'full' : 'all';
  return withOption(source, element, names, isOn ? on : 'none');
}

/** A drilldown with its first action; clicks are switched on, as the option would switch it off, too. */
export function withDrilldown(text: string, place: number, kind: ActionKind, app: string): string {
  const source = sourceOf(text);
  const element = elementAt(source, place);
  if (!element) return text;
  const inner = actionXml(kind, app);
  const next = inserted(source, element, `<drilldown>\n  ${inner}\n</drilldown>`);
  return withSwitch(next, place, true);
}

/** Of a table: whether a click is on a cell or on a row. */
export const clickSelection = (table: XmlElement): 'cell' | 'row' =>
  drilldownOption('table', readOptions(table)) === 'row' ? 'row' : 'cell';

export function withClickSelection(text: string, place: number, next: 'cell' | 'row'): string {
  const source = sourceOf(text);
  const table = elementAt(source, place);
  return table ? withOption(source, table, ['drilldown'], next) : text;
}

/** Whether a click leads anywhere: of events, raw texts have no values. */
export const hasDrilldown = (element: XmlElement): boolean =>
  element.name !== 'html' &&
  (element.name !== 'event' ||
    ['', 'list'].includes(readOptions(element).get('type')?.trim().toLowerCase() ?? ''));

/** Attributes that the form changes. */
const ATTRIBUTES: Record<string, readonly string[]> = {
  drilldown: ['target'],
  condition: ['field', 'match'],
  link: ['target'],
};

/** What the form does not change of a drilldown, a condition or an action: attributes and elements. */
export function unknownIn(part: XmlElement): string[] {
  const known = ATTRIBUTES[part.name] ?? ['token'];
  return [
    ...[...part.attributes.keys()].filter((name) => !known.includes(name)),
    ...elementsOf(part)
      .filter(({ name }) => !ACTIONS.has(name) && name !== 'condition')
      .map(({ written }) => `<${written}>`),
  ];
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

/** Without what a click does; the option is switched off, as a click would show the events behind a value. */
export function withoutDrilldown(text: string, place: number): string {
  const source = sourceOf(text);
  const drilldown = elementAt(source, place);
  const element = drilldown && parentOf(source, drilldown);
  if (!drilldown || !element) return text;
  return withSwitch(removed(source, drilldown), element.start, false);
}

/** An action or a condition goes; with the last one, the drilldown. */
export function withoutAction(text: string, handler: number, action: number): string {
  const source = sourceOf(text);
  const element = elementAt(source, action);
  const drilldown = elementAt(source, handler);
  if (!element || !drilldown) return text;
  const isLast = drilldown.name === 'drilldown' && elementsOf(drilldown).length === 1;
  return isLast ? withoutDrilldown(text, handler) : removed(source, element);
}

export const NEW_TAB: FormField = {
  label: 'Open in new tab',
  kind: 'choice',
  at: { attribute: 'target' },
  choices: { '': 'No', _blank: 'Yes' },
  usual: '',
};

export const conditionFields = (columns: readonly string[]): FormField[] => [
  {
    label: 'Column',
    kind: 'text',
    at: { attribute: 'field' },
    usual: '',
    help: '*: any',
    suggestions: columns,
  },
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

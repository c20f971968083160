/**
 * What the editor by form does to the text of a view: panels, rows, inputs. Each takes a text and gives the
 * next one; places are those of the text that it takes.
 */

import { childOf, childrenOf, elementsOf, type XmlElement } from '../model/xml';
import { inputsOf, isDrawn, type OutlineRow, type Position, positionOf, rowsOf } from './outline';
import {
  elementAt,
  escaped,
  inserted,
  moved,
  parentOf,
  removed,
  renamed,
  type Source,
  sourceOf,
  withAttribute,
} from './source';

export type PanelKind = 'chart' | 'table' | 'single' | 'event' | 'map' | 'html';

export interface NewPanel {
  kind: PanelKind;
  title: string;
  search: string;
  earliest: string;
  latest: string;
  options?: Record<string, string>;
}

export function panelXml({ kind, title, search, earliest, latest, options }: NewPanel): string {
  if (kind === 'html') {
    return `<panel>\n  <html>\n    <p>${escaped(title)}</p>\n  </html>\n</panel>`;
  }
  const lines = [
    '<panel>',
    `  <${kind}>`,
    ...(title === '' ? [] : [`    <title>${escaped(title)}</title>`]),
    '    <search>',
    `      <query>${escaped(search)}</query>`,
    `      <earliest>${escaped(earliest)}</earliest>`,
    `      <latest>${escaped(latest)}</latest>`,
    '    </search>',
    ...Object.entries(options ?? {}).map(
      ([name, value]) => `    <option name="${name}">${escaped(value)}</option>`,
    ),
    `  </${kind}>`,
    '</panel>',
  ];
  return lines.join('\n');
}

/** A new panel: in a row, or in a row of its own at an index; behind everything without one. */
export function withPanel(
  text: string,
  xml: string,
  at: { row?: number; newRow?: number },
): string {
  const source = sourceOf(text);
  const rows = rowsOf(source);
  const row = at.row === undefined ? undefined : rows[at.row];
  if (row?.isRow) return inserted(source, row.node, xml);
  const inner = xml
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
  const before = at.newRow === undefined ? null : (rows[at.newRow]?.node ?? null);
  return inserted(source, source.root, `<row>\n${inner}\n</row>`, before);
}

/** A row that holds nothing any more goes, too. */
function withoutEmptyRow(text: string, place: number): string {
  const source = sourceOf(text);
  const row = elementAt(source, place);
  const isEmpty = row?.name === 'row' && elementsOf(row).length === 0;
  // A comment in it is somebody's.
  const inner = row && isEmpty ? text.slice(row.innerStart, row.innerEnd).trim() : '';
  return row && isEmpty && inner === '' ? removed(source, row) : text;
}

export function withoutPanel(text: string, place: number): string {
  const source = sourceOf(text);
  const panel = elementAt(source, place);
  const parent = panel && parentOf(source, panel);
  if (!panel || !parent) return text;
  const next = removed(source, panel);
  return parent.name === 'row' ? withoutEmptyRow(next, parent.start) : next;
}

/** The panel once more, behind itself. */
export function withCopy(text: string, place: number): string {
  const source = sourceOf(text);
  const panel = elementAt(source, place);
  const parent = panel && parentOf(source, panel);
  if (!panel || !parent) return text;
  const siblings = elementsOf(parent);
  const next = siblings[siblings.findIndex((one) => one.start === place) + 1] ?? null;
  // What is named by an id is there once.
  const body = text.slice(panel.start, panel.end).replace(/\s+id\s*=\s*(?:"[^"]*"|'[^']*')/g, '');
  return inserted(source, parent, body, next, true);
}

export type Direction = 'left' | 'right' | 'up' | 'down';

/** Where a panel may go: beside another one of a row, or into a row of its own in front of a row. */
export type Target = { row: number; index: number } | { newRow: number };

/** Where a step leads; null at an edge. */
export function targetOf(
  rows: readonly OutlineRow[],
  from: Position,
  direction: Direction,
): Target | null {
  const row = rows[from.row];
  if (!row) return null;
  if (direction === 'left') {
    return from.panel > 0 && row.isRow ? { row: from.row, index: from.panel - 1 } : null;
  }
  if (direction === 'right') {
    const isLast = from.panel >= row.panels.length - 1;
    return isLast || !row.isRow ? null : { row: from.row, index: from.panel + 2 };
  }
  // A panel beside others gets a row of its own first, then joins the next one.
  const isAlone = row.panels.length === 1;
  if (direction === 'up') {
    if (!isAlone) return { newRow: from.row };
    const above = rows[from.row - 1];
    if (!above) return null;
    return above.isRow
      ? { row: from.row - 1, index: above.panels.length }
      : { newRow: from.row - 1 };
  }
  if (!isAlone) return { newRow: from.row + 1 };
  const below = rows[from.row + 1];
  if (!below) return null;
  return below.isRow ? { row: from.row + 1, index: 0 } : { newRow: from.row + 2 };
}

export function withPanelMoved(text: string, place: number, target: Target): string {
  const source = sourceOf(text);
  const rows = rowsOf(source);
  const panel = elementAt(source, place);
  const from = positionOf(rows, place);
  const own = from && rows[from.row];
  if (!panel || !own) return text;
  if ('newRow' in target) return intoNewRow(source, rows, own, panel, target.newRow);
  const row = rows[target.row];
  if (!row?.isRow) return text;
  const before = row.panels[target.index] ?? null;
  // Behind the panels there may be other children of the row.
  const last = row.panels.at(-1);
  const behind =
    before ?? (last ? (elementsOf(row.node).find((one) => one.start > last.start) ?? null) : null);
  const next = moved(source, panel, row.node, behind);
  return own.isRow ? cleared(next) : next;
}

function intoNewRow(
  source: Source,
  rows: readonly OutlineRow[],
  own: OutlineRow,
  panel: XmlElement,
  at: number,
): string {
  const before = rows[at]?.node ?? null;
  const isAlone = own.panels.length === 1;
  if (isAlone) return moved(source, own.node, source.root, before);
  // An empty row at the place, then the panel into it.
  const text = inserted(source, source.root, '<row>\n</row>', before);
  const next = sourceOf(text);
  const added = rowsOf(next)[before ? at : rows.length];
  const shift = added && added.node.start <= panel.start ? text.length - source.text.length : 0;
  const again = elementAt(next, panel.start + shift);
  if (!added || !again) return source.text;
  return cleared(moved(next, again, added.node, null));
}

/** Without rows that a move has left empty. */
function cleared(text: string): string {
  const empty = rowsOf(sourceOf(text)).find(
    ({ node, isRow, panels }) => isRow && panels.length === 0 && elementsOf(node).length === 0,
  );
  return empty ? withoutEmptyRow(text, empty.node.start) : text;
}

/** Another kind of element; its options stay, also those that the new kind does not know. */
export function withKind(text: string, place: number, kind: string): string {
  const source = sourceOf(text);
  const element = elementAt(source, place);
  if (!element || !isDrawn(element)) return text;
  const next = renamed(source, element, kind);
  if (kind === 'viz' || !element.attributes.has('type')) return next;
  const again = sourceOf(next);
  const found = elementAt(again, place);
  return found ? withAttribute(again, found, 'type', null) : next;
}

// -- inputs

export const INPUT_KINDS = [
  'time',
  'dropdown',
  'text',
  'radio',
  'multiselect',
  'checkbox',
  'link',
] as const;
export type NewInputKind = (typeof INPUT_KINDS)[number];

function inputXml(kind: NewInputKind, token: string): string {
  const begin = `<input type="${kind}" token="${token}" searchWhenChanged="true">`;
  const label = kind === 'time' ? 'Time range' : token;
  const lines = [begin, `  <label>${label}</label>`];
  if (kind === 'time') {
    lines.push(
      '  <default>',
      '    <earliest>-24h@h</earliest>',
      '    <latest>now</latest>',
      '  </default>',
    );
  } else if (kind === 'text') lines.push('  <default>*</default>');
  else {
    lines.push('  <choice value="*">All</choice>');
    if (kind === 'multiselect' || kind === 'checkbox') {
      lines.push(`  <valuePrefix>${token}="</valuePrefix>`, '  <valueSuffix>"</valueSuffix>');
      lines.push('  <delimiter> OR </delimiter>');
    }
    lines.push('  <default>*</default>');
  }
  return [...lines, '</input>'].join('\n');
}

/** A name that no input has yet. */
export function freeToken(source: Source, kind: NewInputKind): string {
  const wanted = kind === 'time' ? 'span' : 'field';
  const all = new Set(inputsOf(source).map((input) => input.attributes.get('token') ?? ''));
  for (let at = 1; ; at += 1) {
    const name = at === 1 ? wanted : `${wanted}${at}`;
    if (!all.has(name)) return name;
  }
}

/** A new input above the rows; the view becomes a form, if it is none. */
export function withInput(text: string, kind: NewInputKind): string {
  const source = formOf(sourceOf(text));
  const xml = inputXml(kind, freeToken(source, kind));
  const fieldset = childOf(source.root, 'fieldset');
  if (fieldset) return inserted(source, fieldset, xml);
  const front = new Set(['label', 'description', 'init']);
  const before = elementsOf(source.root).find((one) => !front.has(one.name)) ?? null;
  const inner = xml
    .split('\n')
    .map((line) => `  ${line}`)
    .join('\n');
  const set = `<fieldset submitButton="false">\n${inner}\n</fieldset>`;
  return inserted(source, source.root, set, before);
}

/** `<dashboard>` shows no inputs. */
function formOf(source: Source): Source {
  return source.root.name === 'dashboard' ? sourceOf(renamed(source, source.root, 'form')) : source;
}

export function withoutElement(text: string, place: number): string {
  const source = sourceOf(text);
  const element = elementAt(source, place);
  return element ? removed(source, element) : text;
}

/** An input one place to the left or right among its neighbours. */
export function withInputMoved(text: string, place: number, by: -1 | 1): string {
  const source = sourceOf(text);
  const input = elementAt(source, place);
  const parent = input && parentOf(source, input);
  if (!input || !parent) return text;
  const inputs = childrenOf(parent, 'input');
  const at = inputs.findIndex((one) => one.start === place);
  if (by === -1) {
    const before = inputs[at - 1];
    return before ? moved(source, input, parent, before) : text;
  }
  const next = inputs[at + 1];
  if (!next) return text;
  // The neighbour goes in front of it.
  return moved(source, next, parent, input);
}

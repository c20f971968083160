/** From `<input>` to an `Input`. */

import { readHandler } from './readHandler';
import { type Keys, readSearch } from './readSearch';
import type { Choice, Input, InputKind } from './types';
import { flag, listOf, tokenList } from './values';
import { childOf, childrenOf, childText, rawText, textOf, type XmlElement } from './xml';

const KINDS = new Set<string>([
  'text',
  'dropdown',
  'radio',
  'multiselect',
  'checkbox',
  'link',
  'time',
  'submit',
]);
const NO_DEFAULTS = { template: null, earliest: null, latest: null };

export function readInput(element: XmlElement, keys: Keys): Input {
  const written = element.attributes.get('type')?.toLowerCase() ?? 'text';
  const kind = (KINDS.has(written) ? written : 'text') as InputKind;
  const populating = childOf(element, 'populatingsearch');
  const saved = childText(element, 'populatingsavedsearch');
  const search = childOf(element, 'search');
  const choices = childrenOf(element, 'choice').map(readChoice);
  const change = childOf(element, 'change');
  const text = (name: string) => {
    const child = childOf(element, name);
    return child ? rawText(child) : undefined;
  };
  return {
    key: keys.next('input'),
    id: element.attributes.get('id') ?? null,
    kind,
    token: element.attributes.get('token')?.replace(/^\$|\$$/g, '') || null,
    label: childText(element, 'label') ?? null,
    searchWhenChanged: flag(element.attributes.get('searchwhenchanged'), false),
    depends: tokenList(element.attributes.get('depends')),
    rejects: tokenList(element.attributes.get('rejects')),
    choices,
    search: search
      ? readSearch(search, keys, NO_DEFAULTS)
      : populating || saved !== undefined
        ? populatingSearch(populating, saved, keys)
        : null,
    fieldForLabel:
      childText(element, 'fieldforlabel') ?? populating?.attributes.get('fieldforlabel') ?? '',
    fieldForValue:
      childText(element, 'fieldforvalue') ?? populating?.attributes.get('fieldforvalue') ?? '',
    selectFirstChoice: flag(childText(element, 'selectfirstchoice'), false),
    allowCustomValues: flag(childText(element, 'allowcustomvalues'), false),
    default: valuesOf(childOf(element, 'default') ?? childOf(element, 'seed'), kind, choices),
    initial: valuesOf(childOf(element, 'initialvalue'), kind, choices),
    prefix: text('prefix') ?? '',
    suffix: text('suffix') ?? '',
    valuePrefix: text('valueprefix') ?? '',
    valueSuffix: text('valuesuffix') ?? '',
    delimiter: text('delimiter') ?? ' ',
    change: change ? readHandler(change) : null,
    line: element.line,
    place: [element.start, element.end],
  };
}

function readChoice(choice: XmlElement): Choice {
  const label = textOf(choice);
  const value = choice.attributes.get('value') ?? label;
  return { value, label: label || value };
}

function populatingSearch(element: XmlElement | undefined, saved: string | undefined, keys: Keys) {
  const base = {
    key: keys.next('search'),
    id: null,
    earliest: element?.attributes.get('earliest') ?? null,
    latest: element?.attributes.get('latest') ?? null,
    refresh: null,
    refreshType: 'delay' as const,
    handlers: {},
    depends: [],
    rejects: [],
    line: element?.line ?? 1,
  };
  if (!element) {
    return { ...base, source: { kind: 'report' as const, name: saved ?? '', app: null } };
  }
  return { ...base, source: { kind: 'query' as const, query: textOf(element) } };
}

function valuesOf(
  element: XmlElement | undefined,
  kind: InputKind,
  choices: Choice[],
): string[] | null {
  if (!element) return null;
  if (kind === 'time') {
    const earliest = childText(element, 'earliest', 'earliesttime');
    const latest = childText(element, 'latest', 'latesttime');
    if (earliest === undefined && latest === undefined) {
      const label = textOf(element);
      return label === '' ? null : [label];
    }
    return [earliest ?? '', latest ?? ''];
  }
  const text = textOf(element);
  if (kind !== 'multiselect' && kind !== 'checkbox') return [text];
  // The value of a choice may be a condition with quotes and commas.
  return choices.some((choice) => choice.value === text) ? [text] : listOf(text);
}

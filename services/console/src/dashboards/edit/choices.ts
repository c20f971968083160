/** What an input may be set to, as it is written: its choices, and the default of a time input. */

import { childOf, childrenOf, elementsOf, textOf, type XmlElement } from '../model/xml';
import { EARLIEST, LATEST } from './searchParts';
import {
  elementAt,
  escaped,
  firstChild,
  inserted,
  removed,
  sourceOf,
  withAttribute,
  withChild,
  withInner,
  withText,
} from './source';

export interface WrittenChoice {
  value: string;
  label: string;
}

export const readChoices = (input: XmlElement): WrittenChoice[] =>
  childrenOf(input, 'choice').map((choice) => {
    const label = textOf(choice);
    return { value: choice.attributes.get('value') ?? label, label };
  });

/** The choices of an input as given; those that are the same stay as they are written. */
export function writeChoices(text: string, place: number, choices: WrittenChoice[]): string {
  let source = sourceOf(text);
  for (let at = 0; ; at += 1) {
    const input = elementAt(source, place);
    if (!input) return text;
    const written = childrenOf(input, 'choice');
    const [node, choice] = [written[at], choices[at]];
    if (!choice) {
      const last = written.at(-1);
      if (written.length <= choices.length || !last) return source.text;
      source = sourceOf(removed(source, last));
      at -= 1;
    } else if (!node) {
      const behind = elementsOf(input).find((one) => !['label', 'choice'].includes(one.name));
      const xml = `<choice value="${escaped(choice.value).replaceAll('"', '&quot;')}">${escaped(choice.label)}</choice>`;
      source = sourceOf(inserted(source, input, xml, behind ?? null));
    } else {
      const isSame = node.attributes.get('value') === choice.value;
      const next = sourceOf(
        isSame ? source.text : withAttribute(source, node, 'value', choice.value),
      );
      const again = elementAt(next, node.start);
      source = again ? sourceOf(withText(next, again, choice.label)) : next;
    }
  }
}

/** Earliest and latest of the default of a time input. */
export function readDefaultRange(input: XmlElement): { earliest: string; latest: string } {
  const held = childOf(input, 'default');
  const text = (names: string[]) => {
    const child = held && firstChild(held, names);
    return child ? textOf(child) : '';
  };
  return { earliest: text(EARLIEST), latest: text(LATEST) };
}

export function writeDefaultRange(
  text: string,
  place: number,
  earliest: string,
  latest: string,
): string {
  const write = (now: string, names: readonly string[], value: string, behind: string[]) => {
    const source = sourceOf(now);
    const held = childOf(elementAt(source, place) ?? source.root, 'default');
    return held ? withChild(source, held, names, value, behind) : now;
  };
  const source = sourceOf(text);
  const input = elementAt(source, place);
  if (!input) return text;
  const held = childOf(input, 'default');
  // The name of a preset gives way to its bounds.
  const isNamed = held && !firstChild(held, [...EARLIEST, ...LATEST]);
  const begun = !held
    ? inserted(source, input, '<default>\n</default>')
    : isNamed
      ? withInner(source, held, '')
      : text;
  const half = write(begun, EARLIEST, earliest, []);
  return write(half, LATEST, latest, ['earliest', 'earliesttime']);
}

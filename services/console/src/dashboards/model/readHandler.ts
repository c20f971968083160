/** From `<drilldown>`, `<change>`, `<done>` and the like to a `Handler`. */

import type { Action, Condition, Handler } from './types';
import { childrenOf, elementsOf, rawText, textOf, type XmlElement } from './xml';

export function readActions(element: XmlElement): Action[] {
  const target = element.attributes.get('target') ?? '';
  return elementsOf(element).flatMap((child): Action[] => {
    const attribute = (name: string) => child.attributes.get(name) ?? '';
    const token = attribute('token');
    switch (child.name) {
      case 'set':
        return [
          {
            kind: 'set',
            token,
            value: literalOf(child),
            prefix: attribute('prefix'),
            suffix: attribute('suffix'),
          },
        ];
      case 'unset':
        return [{ kind: 'unset', token }];
      case 'eval':
        return [{ kind: 'eval', token, expression: textOf(child) }];
      case 'link':
        return [
          {
            kind: 'link',
            href: textOf(child),
            target: attribute('target') || target,
            field: attribute('field') || attribute('series'),
          },
        ];
      default:
        return [];
    }
  });
}

/** Blanks count unless they are of the layout of the file. */
function literalOf(element: XmlElement): string {
  const text = rawText(element);
  return text.includes('\n') ? text.trim() : text;
}

function readCondition(element: XmlElement, target: string): Condition {
  const attribute = (name: string) => element.attributes.get(name) ?? null;
  const actions = readActions(element).map((action) =>
    action.kind === 'link' && action.target === '' ? { ...action, target } : action,
  );
  return {
    field: attribute('field'),
    value: attribute('value'),
    label: attribute('label'),
    match: attribute('match'),
    actions,
  };
}

export function readHandler(element: XmlElement): Handler {
  const target = element.attributes.get('target') ?? '';
  return {
    always: readActions(element),
    conditions: childrenOf(element, 'condition').map((child) => readCondition(child, target)),
    target,
  };
}

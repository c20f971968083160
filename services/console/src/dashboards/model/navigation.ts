/** From `nav/default.xml` to the bar of an app. */

import { listOf } from './values';
import { elementsOf, parseXml, type XmlElement } from './xml';

export type NavItem =
  | { kind: 'view'; name: string; label: string | null }
  | { kind: 'views'; match: string; isUnclassified: boolean }
  | { kind: 'link'; href: string; label: string }
  | { kind: 'report'; name: string; label: string | null }
  | { kind: 'group'; label: string; items: NavItem[] }
  | { kind: 'divider' };

export interface Navigation {
  items: NavItem[];
  /** The view that the app begins with. */
  start: string | null;
  color: string | null;
}

/** Groups within groups. */
const MOST_DEPTH = 5;

export function readNavigationText(text: string): Navigation {
  const root = parseXml(text);
  const start = findStart(root);
  const items = itemsOf(root, 0);
  return { items, start: start ?? firstView(items), color: root.attributes.get('color') ?? null };
}

function itemsOf(element: XmlElement, depth: number): NavItem[] {
  if (depth > MOST_DEPTH) return [];
  return elementsOf(element).flatMap((child): NavItem[] => {
    const attribute = (name: string) => child.attributes.get(name) ?? null;
    switch (child.name) {
      case 'view': {
        const name = attribute('name');
        if (name) return [{ kind: 'view', name, label: attribute('label') }];
        const source = attribute('source');
        return source
          ? [
              {
                kind: 'views',
                match: attribute('match') ?? '',
                isUnclassified: source === 'unclassified',
              },
            ]
          : [];
      }
      case 'saved': {
        const name = attribute('name');
        return name ? [{ kind: 'report', name, label: attribute('label') }] : [];
      }
      case 'a':
        return [{ kind: 'link', href: attribute('href') ?? '', label: linkText(child) }];
      case 'collection':
        return [
          { kind: 'group', label: attribute('label') ?? '', items: itemsOf(child, depth + 1) },
        ];
      case 'divider':
        return [{ kind: 'divider' }];
      default:
        return [];
    }
  });
}

const linkText = (link: XmlElement): string =>
  link.children
    .map((child) => (child.kind === 'text' ? child.text : ''))
    .join('')
    .trim() ||
  (link.attributes.get('href') ?? '');

function findStart(element: XmlElement): string | null {
  for (const child of elementsOf(element)) {
    const [word] = listOf(child.attributes.get('default'));
    if (child.name === 'view' && (word === 'true' || word === '1'))
      return child.attributes.get('name') ?? null;
    const inner = findStart(child);
    if (inner) return inner;
  }
  return null;
}

function firstView(items: NavItem[]): string | null {
  for (const item of items) {
    if (item.kind === 'view') return item.name;
    const inner = item.kind === 'group' ? firstView(item.items) : null;
    if (inner) return inner;
  }
  return null;
}

/** Views that the navigation names. */
export function namedViews(items: NavItem[]): Set<string> {
  const names = new Set<string>();
  for (const item of items) {
    if (item.kind === 'view') names.add(item.name);
    if (item.kind === 'group') for (const name of namedViews(item.items)) names.add(name);
  }
  return names;
}

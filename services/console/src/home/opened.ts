/** Dashboards and reports that a user opened in this browser, newest first. */

import type { KeyValueStore } from '../query/history';

export interface Opened {
  kind: 'dashboard' | 'report';
  title: string;
  app: string;
  /** The address without its query: inputs have their defaults again. */
  href: string;
}

const LIMIT = 30;

/** One list per user: what one opened is not shown to the next. */
const keyOf = (username: string) => `karst.opened.${username}`;

function isOpened(value: unknown): value is Opened {
  if (typeof value !== 'object' || value === null) return false;
  const { kind, title, app, href } = value as Record<string, unknown>;
  return (
    (kind === 'dashboard' || kind === 'report') &&
    typeof title === 'string' &&
    typeof app === 'string' &&
    typeof href === 'string' &&
    // A page of the console, never another site.
    href.startsWith('/') &&
    !href.startsWith('//')
  );
}

export function readOpened(store: KeyValueStore, username: string): Opened[] {
  try {
    const parsed: unknown = JSON.parse(store.getItem(keyOf(username)) ?? '[]');
    return Array.isArray(parsed) ? parsed.filter(isOpened) : [];
  } catch {
    return [];
  }
}

/** Remembers an object; one that is there already moves to the front. */
export function rememberOpened(store: KeyValueStore, username: string, opened: Opened): void {
  const known = readOpened(store, username).filter((one) => one.href !== opened.href);
  try {
    store.setItem(keyOf(username), JSON.stringify([opened, ...known].slice(0, LIMIT)));
  } catch {
    // A full or forbidden store costs the list, not the page.
  }
}

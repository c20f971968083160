/**
 * Keys of the whole page. Letters do nothing while somebody types, and can be switched off.
 * `g s` is two keys within a second and a half.
 */

import { useEffect, useRef } from 'react';

/** `key` of the event, or `g` and a key; what they do. */
export type Shortcuts = Record<string, () => void>;

/** Milliseconds between the keys of a sequence. */
const PATIENCE = 1_500;

export function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** Buttons of what is open: menus, and panels such as that of the time range. */
const OPEN = '[aria-expanded="true"]:is([aria-haspopup="menu"], [aria-haspopup="dialog"])';

/**
 * Closes what is open before a dialog takes the keys, and gives the focus back. A menu that closes later takes the
 * focus from the dialog, and with it what is typed.
 */
export function closeMenus(): void {
  for (const button of document.querySelectorAll<HTMLElement>(OPEN)) {
    button.click();
    button.focus({ preventScroll: true });
  }
}

export function useShortcuts(shortcuts: Shortcuts, enabled: boolean): void {
  const latest = useRef(shortcuts);
  latest.current = shortcuts;
  useEffect(() => {
    if (!enabled) return;
    let begun = 0;
    const onKey = (event: KeyboardEvent) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
      if (isTyping(event.target) || document.querySelector('[aria-modal="true"]')) return;
      const isSecond = Date.now() - begun < PATIENCE;
      begun = !isSecond && event.key === 'g' ? Date.now() : 0;
      const action = latest.current[isSecond ? `g ${event.key}` : event.key];
      if (!action) return;
      event.preventDefault();
      action();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, [enabled]);
}

export const SHORTCUT_HELP: readonly { keys: string[]; does: string }[] = [
  { keys: ['Ctrl', 'K'], does: 'Go to a page, report, app or earlier search' },
  { keys: ['/'], does: 'Go to the search' },
  { keys: ['Enter'], does: 'Run the search' },
  { keys: ['Shift', 'Enter'], does: 'New line in the search' },
  { keys: ['Ctrl', '\\'], does: 'Format the search' },
  { keys: ['↑', '↓'], does: 'Earlier and later searches' },
  { keys: ['t'], does: 'Time range' },
  { keys: ['['], does: 'The window of time before' },
  { keys: [']'], does: 'The window of time after' },
  { keys: ['g', 'h'], does: 'Home' },
  { keys: ['g', 's'], does: 'Search' },
  { keys: ['g', 'r'], does: 'Reports' },
  { keys: ['g', 'j'], does: 'Jobs' },
  { keys: ['g', 'd'], does: 'Dashboards' },
  { keys: ['g', 'i'], does: 'Data' },
  { keys: ['g', 'm'], does: 'Monitor' },
  { keys: ['g', 'c'], does: 'Settings' },
  { keys: ['?'], does: 'This list' },
];

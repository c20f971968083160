/** Searches run before, newest first, kept in the browser across sessions. */

const KEY = 'karst.history';
const LIMIT = 200;

export type KeyValueStore = Pick<Storage, 'getItem' | 'setItem'>;

export function readHistory(store: KeyValueStore): string[] {
  try {
    const parsed: unknown = JSON.parse(store.getItem(KEY) ?? '[]');
    return Array.isArray(parsed) ? parsed.filter((item) => typeof item === 'string') : [];
  } catch {
    return [];
  }
}

/** Remembers a search; one that is there already moves to the front. */
export function remember(store: KeyValueStore, query: string): string[] {
  const text = query.trim();
  const known = readHistory(store);
  if (text === '') return known;
  const next = [text, ...known.filter((item) => item !== text)].slice(0, LIMIT);
  try {
    store.setItem(KEY, JSON.stringify(next));
  } catch {
    // A full or forbidden store costs the history, not the search.
  }
  return next;
}

/** Where the up and down keys stand: -1 is the text being typed, 0 the newest search. */
export interface HistoryCursor {
  position: number;
  draft: string;
}

export const AT_DRAFT: HistoryCursor = { position: -1, draft: '' };

export function step(
  history: readonly string[],
  cursor: HistoryCursor,
  current: string,
  direction: 'older' | 'newer',
): { cursor: HistoryCursor; text: string } | null {
  const draft = cursor.position === -1 ? current : cursor.draft;
  let position = cursor.position + (direction === 'older' ? 1 : -1);
  if (direction === 'older' && position === 0 && history[0] === current) position = 1;
  if (position < -1 || position >= history.length) return null;
  return { cursor: { position, draft }, text: position === -1 ? draft : (history[position] ?? '') };
}

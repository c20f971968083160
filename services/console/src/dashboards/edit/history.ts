/** The versions of a text while it is edited, for undo and redo. */

export interface History {
  past: readonly string[];
  text: string;
  future: readonly string[];
  /** Whether the last change was typed: the next key belongs to the same step. */
  isTyping: boolean;
}

/** Steps that are kept. */
const MOST = 200;

export const begun = (text: string): History => ({ past: [], text, future: [], isTyping: false });

export function changed(history: History, text: string, isTyping = false): History {
  if (text === history.text) return history;
  const past =
    isTyping && history.isTyping ? history.past : [...history.past, history.text].slice(-MOST);
  return { past, text, future: [], isTyping };
}

export function undone(history: History): History {
  const text = history.past.at(-1);
  if (text === undefined) return history;
  const future = [history.text, ...history.future];
  return { past: history.past.slice(0, -1), text, future, isTyping: false };
}

export function redone(history: History): History {
  const [text, ...future] = history.future;
  if (text === undefined) return history;
  return { past: [...history.past, history.text], text, future, isTyping: false };
}

/**
 * The layout of a search: each pipe begins a line, and a subsearch with a pipe has lines of its own. Only the blanks
 * around pipes, and inside the brackets of such subsearches, change. All other blanks stay, since some have a
 * meaning: in `TERM(a  b)`, in arguments of custom commands. Loaded when it is first used, so it imports nothing.
 */

import type { StateCommand } from '@codemirror/state';
import type { Token } from './spl';

/** Characters that are replaced. */
export interface Change {
  from: number;
  to: number;
  insert: string;
}

type Target = Parameters<StateCommand>[0];

const INDENT = '    ';
/** Without a limit, thousands of nested brackets would make a text of gigabytes. */
const MOST_INDENTS = 20;

/** Formats as one step of undo. The caret stays at its word, since only blanks are replaced. */
export function format({ state, dispatch }: Target, tokensOf: (text: string) => Token[]): void {
  const text = state.doc.toString();
  const changes = formatChanges(text, tokensOf(text));
  if (changes.length === 0) return;
  dispatch(state.update({ changes, userEvent: 'format', scrollIntoView: true }));
}

/** What formats a text with these pieces; nothing if it is formatted, or if it is unclear where its strings begin. */
export function formatChanges(text: string, tokens: Token[]): Change[] {
  // U+FEFF is a blank here and a character of a word for the server.
  if (text.includes('\ufeff')) return [];
  if (tokens.some((token, at) => isUnclear(token, tokens[at + 1]))) return [];
  const brackets = bracketsWithPipes(tokens);
  const changes: Change[] = [];
  let depth = 0;
  for (let at = 0; at <= tokens.length; at += 1) {
    const before = tokens[at - 1];
    const after = tokens[at];
    const opens = before?.text === '[' && brackets.has(before);
    const closes = after?.text === ']' && brackets.has(after);
    if (opens) depth += 1;
    if (closes) depth -= 1;
    const from = before?.to ?? 0;
    const to = after?.from ?? text.length;
    let insert = text.slice(from, to);
    if (!before || !after) insert = '';
    else if (opens || closes || after.text === '|')
      insert = `\n${INDENT.repeat(Math.min(depth, MOST_INDENTS))}`;
    else if (before.text === '|') insert = ' ';
    if (insert !== text.slice(from, to)) changes.push({ from, to, insert });
  }
  return changes;
}

/** Where it depends on the command, or on the macro, whether a string begins. */
function isUnclear({ text, kind, to }: Token, next: Token | undefined): boolean {
  if (kind === 'string') return !next && isOpen(text);
  if (text === '\\') return next?.from === to && next.kind === 'string';
  const isName = kind === 'propertyName';
  if (!isName && kind !== 'macroName') return false;
  // Macros are expanded between single quotes, too, and not every command knows escaped quotes there.
  return (isName && text.includes('`')) || hasHalf(text) || hasHalf(text.replace(/\\./gs, ''));
}

/** Whether a string, the last of the text, is not closed. */
const isOpen = (text: string): boolean =>
  text.length < 2 || !text.endsWith('"') || /(?<!\\)\\(?:\\\\)*"$/.test(text);

/** Whether a part of a string stands in a text. */
const hasHalf = (text: string): boolean => text.split('"').length % 2 === 0;

/** The brackets, opening and closing, of subsearches with a pipe. */
function bracketsWithPipes(tokens: Token[]): Set<Token> {
  const found = new Set<Token>();
  const open: { token: Token; hasPipe: boolean }[] = [];
  for (const token of tokens) {
    const inner = open.at(-1);
    if (token.text === '[') open.push({ token, hasPipe: false });
    else if (token.text === '|' && inner) inner.hasPipe = true;
    else if (token.text === ']' && inner) {
      open.pop();
      if (!inner.hasPipe) continue;
      found.add(inner.token).add(token);
      const outer = open.at(-1);
      if (outer) outer.hasPipe = true;
    }
  }
  return found;
}

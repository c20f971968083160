/**
 * Which commands of a search change something outside it. A search that comes out of an address is asked
 * about before it runs, if it has one: else a link could delete what its reader may delete.
 */

import language from './language.json';

const COMMANDS = new Set(language.commands);
const WRITING = new Set(language.writing);

/** Commands that may hold others which the text does not show: macros and saved searches. */
const OPAQUE = new Set(['savedsearch', 'savedsplunk', 'map']);
const FIRST_WORD = /^\s*([A-Za-z_][A-Za-z0-9_]*)(?=\s|$)/;

/**
 * Names of the commands of a search and its subsearches that stand after a pipe or a bracket, in their
 * order.
 */
export function commandsOf(query: string): string[] {
  const found: string[] = [];
  let expectsCommand = false;
  let at = 0;
  while (at < query.length) {
    const char = query[at] as string;
    if (query.startsWith('```', at)) {
      const end = query.indexOf('```', at + 3);
      at = end === -1 ? query.length : end + 3;
    } else if (char === '"') {
      at = afterQuoted(query, at);
      expectsCommand = false;
    } else if (char === '|' || char === '[') {
      expectsCommand = true;
      at += 1;
    } else if (/\s/.test(char)) {
      at += 1;
    } else {
      const word = expectsCommand
        ? /^[A-Za-z_][A-Za-z0-9_]*/.exec(query.slice(at))?.[0]
        : undefined;
      if (word !== undefined) found.push(word.toLowerCase());
      expectsCommand = false;
      at += word?.length ?? 1;
    }
  }
  return found;
}

function afterQuoted(query: string, open: number): number {
  for (let at = open + 1; at < query.length; at += 1) {
    if (query[at] === '\\') at += 1;
    else if (query[at] === '"') return at + 1;
  }
  return query.length;
}

/** The commands of the search that change something, each once. */
export function writingCommands(names: string[]): string[] {
  return [...new Set(names.filter((name) => WRITING.has(name)))];
}

/** Whether the text does not show which commands run, so that the server has to be asked. */
export function isOpaque(query: string): boolean {
  const withoutComments = query.replace(/```[\s\S]*?```/g, ' ');
  // A first word may be a command or a word to search for.
  const first = FIRST_WORD.exec(withoutComments)?.[1]?.toLowerCase() ?? '';
  return (
    withoutComments.includes('`') ||
    WRITING.has(first) ||
    [first, ...commandsOf(query)].some(isHidden) ||
    hasUnknown(query)
  );
}

/** Whether a command may be one of an app, which is a program. */
const hasUnknown = (query: string): boolean =>
  commandsOf(query).some((name) => !COMMANDS.has(name));

/** Whether the command runs a search that is not in the text. */
export const isHidden = (name: string): boolean => OPAQUE.has(name);

/** Whether the search surely changes nothing: no word or command of an app that could do so is in its text. */
export const surelyReads = (query: string): boolean =>
  !query.includes('`') &&
  !hasUnknown(query) &&
  (query.toLowerCase().match(/[a-z_]\w*/g) ?? []).every(
    (word) => !WRITING.has(word) && !OPAQUE.has(word),
  );

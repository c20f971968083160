/**
 * What people type is a search for words: `sort error` finds events with both. Over REST a first word that is
 * a command is run, so `search` has to stand in front of it. Commands that make rows may lack their pipe.
 */

import language from './language.json';

const COMMANDS = new Set(language.commands);
const RUN = new Set(['search', ...language.generating]);

/** As `with_search` of crates/spl, with the blanks in front: mistakes are marked where they were typed. */
export function withSearch(query: string): string {
  const word =
    /^\s*(\w+)(?=$|[\s|["(,+-])(?!\s*(?:[=<>]|!=))/.exec(query)?.[1]?.toLowerCase() ?? '';
  return COMMANDS.has(word) && !RUN.has(word) ? `search ${query}` : query;
}

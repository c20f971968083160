/**
 * What people type is a search for words: `sort error` finds events with both. Over REST a first word that is
 * a command is run, also one of an app, which only the server knows. So `search` has to stand in front of a word
 * that can be a command. Commands that make rows may lack their pipe, `rest` only with the path of a resource.
 */

import language from './language.json';

const WORD = /^\s*(\w+)(?=$|[\s|["(,+-])(?!\s*(?:[=<>]|!=))/;
/** The name of a command of an app may have other characters. */
const CUSTOM = /^\s*[\p{L}\p{N}_.-]+(?=$|[\s|[\]",])(?!\s*(?:[=<>]|!=))/u;
const PATH_OF_REST = /^\s*\w+(\s+[^\s="]*=("[^"]*"|[^\s"]\S*)?)*\s+"?\//;
const GENERATING = new Set(language.generating);

/** As `with_search` of crates/spl, with the blanks in front: mistakes are marked where they were typed. */
export function withSearch(query: string): string {
  const word = firstWord(query);
  const isName = word !== '' || CUSTOM.test(query);
  return isName && word !== 'search' && !generates(word, query) ? `search ${query}` : query;
}

/** A search as reports hold it, where each first word without a pipe is searched for. */
export function asReport(query: string): string {
  return generates(firstWord(query), query) ? `| ${query.trimStart()}` : query.trim() || '*';
}

const firstWord = (query: string): string => WORD.exec(query)?.[1]?.toLowerCase() ?? '';

const generates = (word: string, query: string): boolean =>
  word === 'rest' ? PATH_OF_REST.test(query) : GENERATING.has(word);

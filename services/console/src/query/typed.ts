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
/** Comments in front of the first word. They do not count. */
const COMMENTS = /^\s*(?:```[\s\S]*?```\s*)+/;
const GENERATING = new Set(language.generating);

/** As `with_search` of crates/spl, with the blanks in front: mistakes are marked where they were typed. */
export function withSearch(query: string): string {
  const begun = withoutComments(query);
  const word = firstWord(begun);
  const isName = word !== '' || CUSTOM.test(begun);
  return isName && word !== 'search' && !generates(word, begun) ? `search ${query}` : query;
}

/** A search as reports hold it, where each first word without a pipe is searched for. */
export function asReport(query: string): string {
  const begun = withoutComments(query);
  return generates(firstWord(begun), begun) ? `| ${query.trimStart()}` : query.trim() || '*';
}

const withoutComments = (query: string): string => query.replace(COMMENTS, '');

const firstWord = (query: string): string => WORD.exec(query)?.[1]?.toLowerCase() ?? '';

const generates = (word: string, query: string): boolean =>
  word === 'rest' ? PATH_OF_REST.test(query) : GENERATING.has(word);

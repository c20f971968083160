/**
 * Completion of field names, without requests: fields of the last results, and those that the search itself names.
 * The server completes the words of the language. Loaded when something is completed, apart from the editor,
 * which passes what both need: with imports of the page's first files, the list of files to load would be longer than
 * this one.
 */

import type { FieldSummary, Suggestion } from '../api/types';
import type { Token } from './spl';

/** What the last results of the page have. */
export interface KnownFields {
  fields: Pick<FieldSummary, 'name' | 'count'>[];
  /** The columns of a report. */
  columns: string[];
}

/** What is completed, and where. */
export interface Asked {
  text: string;
  cursor: number;
  known?: KnownFields;
  /** Whether suggestions are asked for, so that they come before a letter is typed. */
  explicit: boolean;
  tokensOf: (text: string) => Token[];
  /** A name in arguments, and in expressions, with the quotes that it needs. */
  fieldName: (name: string) => string;
  evalFieldName: (name: string) => string;
}

export interface FieldSuggestions {
  found: Suggestion[];
  /** Whether a field has to follow, so that fields come before words of the language. */
  isFirst: boolean;
}

/** Where a word stands. */
interface Place {
  command: string;
  /** Open parentheses; those of `eval(`, which holds an expression, included. */
  open: string[];
  /** Whether `by`, `over` or `where` stands in front, behind which there are no functions of statistics. */
  isBy: boolean;
  /** The piece in front of it. */
  before: string;
}

const MOST_FIELDS = 20;
const DEFAULT_FIELDS = ['host', 'source', 'sourcetype', 'index', '_time', '_raw'];
const WORD = /(?<![\w.:{}@])[A-Za-z_][\w.:{}@-]*$/;
const AGGREGATES = /stats$|chart$/;
const EXPRESSION = /^(?:eval|where|fieldformat)$/;
const TERMS = /^(?:search|metasearch)?$/;
/** The commands that begin with a list of fields. */
const LISTS = /^(?:table|fields|where|dedup|top|rare|sort|mvexpand)$/;

/** The fields that fit at the cursor. */
export function fieldSuggestions(asked: Asked): FieldSuggestions {
  const { text, cursor, explicit, tokensOf, fieldName, evalFieldName } = asked;
  const none = { found: [], isFirst: false };
  const prefix = WORD.exec(text.slice(0, cursor))?.[0] ?? '';
  const from = cursor - prefix.length;
  // In place of the word, so that it is known whether a word can stand there, outside of strings and comments.
  const tokens = tokensOf(`${text.slice(0, from)}_`);
  const last = tokens.at(-1);
  if (last?.text !== '_' || last.kind === 'comment' || last.isCommand) return none;
  const place = placeOf(last, tokens);
  const { command, before } = place;
  const isExpression = inExpression(place);
  const isArgument = AGGREGATES.test(command) && (place.isBy || place.open.length > 0);
  if (AGGREGATES.test(command) && !isArgument) return none;
  if (before === 'as' || (/^[=<>!]$/.test(before) && !isExpression)) return none;
  const begins =
    /^(?:by|over|[(,])$/.test(before) ||
    (before === command && LISTS.test(command)) ||
    (before === '=' && isExpression);
  if (prefix === '' && !explicit && (!begins || TERMS.test(command))) return none;
  const start = /(?<!\w)'$/.test(text.slice(0, from)) ? from - 1 : from;
  const to = start < from && text.charAt(cursor) === "'" ? cursor + 1 : cursor;
  const typed = prefix.toLowerCase();
  const found: Suggestion[] = [];
  for (const [name, detail] of namesOf(asked)) {
    if (!name.toLowerCase().startsWith(typed) || name === prefix) continue;
    const insert = isExpression ? evalFieldName(name) : fieldName(name);
    found.push({ label: name, detail, insert, from: start, to });
    if (found.length === MOST_FIELDS) break;
  }
  return { found, isFirst: isArgument && !isExpression };
}

/** The names of fields with what is known of them, most frequent first. */
function namesOf({ text, cursor, known, tokensOf }: Asked) {
  const names = new Map<string, string>();
  const fields = [...(known?.fields ?? [])].sort((a, b) => b.count - a.count);
  for (const { name, count } of fields) {
    const events = `${count.toLocaleString('en-US')} ${count === 1 ? 'event' : 'events'}`;
    names.set(name, count > 0 ? `field, ${events}` : 'field');
  }
  for (const name of [
    ...(known?.columns ?? []),
    ...writtenFields(text, tokensOf(text), cursor),
    ...DEFAULT_FIELDS,
  ]) {
    if (!names.has(name)) names.set(name, 'field');
  }
  return names;
}

/** The fields that a search names, without the word at the cursor. */
export function writtenFields(text: string, tokens: Token[], cursor = -1): string[] {
  const found = new Set<string>();
  walk(tokens, ({ text: word, kind, from, to, isCommand }, place) => {
    if ((from < cursor && cursor <= to) || isCommand) return;
    const { command, before } = place;
    const isExpression = inExpression(place);
    if (kind === 'string' && command === 'rex') {
      for (const [, group] of word.matchAll(/\(\?P?<(\w+)>/g)) found.add(group as string);
    } else if (kind === 'propertyName') {
      if (word.startsWith("'")) found.add(word.slice(1, -1));
      else if (isExpression || TERMS.test(command)) found.add(word);
    } else if (kind === null && /^[A-Za-z_]/.test(word) && !TERMS.test(command)) {
      // `5m`, parts of `$token$` and `err*`, and `p95(` are not names. After `=` there is the value of an option.
      const [left, right] = [text.charAt(from - 1), text.charAt(to)];
      const hasWildcard = !isExpression && (left === '*' || right === '*');
      const isPart = hasWildcard || /[\w$]/.test(left) || /[$(]/.test(right);
      if (!isPart && (isExpression || !/^[=<>!]$/.test(before))) found.add(word);
    }
  });
  return [...found];
}

const inExpression = ({ command, open }: Place): boolean =>
  EXPRESSION.test(command) || open.includes('eval');

const begin = (): Place => ({ command: '', open: [], isBy: false, before: '' });

/** The place of a piece that is no comment. */
function placeOf(piece: Token, tokens: Token[]): Place {
  let found = begin();
  walk(tokens, (token, place) => {
    if (token === piece) found = { ...place, open: [...place.open] };
  });
  return found;
}

/** Visits the pieces of a search with their places. */
function walk(tokens: Token[], visit: (token: Token, place: Place) => void): void {
  const outer: Place[] = [];
  let place = begin();
  for (const token of tokens) {
    if (token.kind === 'comment') continue;
    visit(token, place);
    const word = token.text.toLowerCase();
    if (word === '|') place = begin();
    else if (word === '[') {
      outer.push(place);
      place = begin();
    } else if (word === ']') place = outer.pop() ?? place;
    else if (token.isCommand) place.command = word;
    else if (word === '(') place.open.push(place.before);
    else if (word === ')') place.open.pop();
    else if (/^(?:by|over|where)$/.test(word)) place.isBy = true;
    place.before = word;
  }
}

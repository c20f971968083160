/**
 * The colours of SPL: a tokenizer, not a parser. It knows the language's words from
 * `query/language.json`, which the tests of the parser write.
 */

import { type StreamParser, StringStream } from '@codemirror/language';
import language from '../query/language.json';

const COMMANDS = new Set(language.commands);
const FUNCTIONS = new Set([...language.functions, ...language.statistics]);
const KEYWORDS = new Set([
  'as',
  'by',
  'over',
  'where',
  'output',
  'outputnew',
  'and',
  'or',
  'not',
  'in',
]);

/** The rest of `$row.Some Field|s$`, a token of a dashboard with a filter, as `runtime/tokens.ts` knows it. */
const FILTERED_TOKEN = /^(?:[\w@][\w@.:{}()/#%* -]{0,98})?[\w@})*%]\|[a-z]\$/;

export interface SplState {
  /** Whether the next word is a command. */
  atCommand: boolean;
  inComment: boolean;
}

export type SplToken =
  | 'comment'
  | 'string'
  | 'macroName'
  | 'operator'
  | 'keyword'
  | 'function'
  | 'number'
  | 'propertyName'
  | 'invalid'
  | null;

export interface Token {
  from: number;
  to: number;
  text: string;
  kind: SplToken;
  /** Whether it stands where a command is named. */
  isCommand: boolean;
}

/** The pieces of a whole text, without the blanks between them. Unlike colours, strings may have several lines. */
export function tokensOf(text: string): Token[] {
  const stream = new StringStream(text, 2, 2);
  const state: SplState = { atCommand: false, inComment: false };
  const tokens: Token[] = [];
  while (!stream.eol()) {
    stream.start = stream.pos;
    const isCommand = state.atCommand;
    const kind = token(stream, state);
    const piece = stream.current();
    if (piece.trim() !== '') {
      tokens.push({ from: stream.start, to: stream.pos, text: piece, kind, isCommand });
    }
  }
  return tokens;
}

/** Longer texts are shown without colours. */
export const COLOURED_CHARACTERS = 20_000;

export const spl: StreamParser<SplState> = {
  name: 'spl',
  startState: () => ({ atCommand: false, inComment: false }),
  copyState: (state) => ({ ...state }),
  token: (stream, state) => token(stream, state),
  languageData: { commentTokens: { block: { open: '```', close: '```' } } },
};

function token(stream: StringStream, state: SplState): SplToken {
  if (state.inComment || stream.match('```')) {
    state.inComment = !stream.skipTo('```');
    if (state.inComment) stream.skipToEnd();
    else stream.match('```');
    return 'comment';
  }
  if (stream.eatSpace()) return null;
  const char = stream.next() as string;
  if (char === '"') {
    state.atCommand = false;
    return skipQuoted(stream);
  }
  if (char === '`') {
    if (!stream.skipTo('`')) stream.skipToEnd();
    else stream.next();
    state.atCommand = false;
    return 'macroName';
  }
  if (char === "'" && isQuotedField(stream)) {
    state.atCommand = false;
    return 'propertyName';
  }
  if (char === '$' && stream.match(FILTERED_TOKEN)) {
    state.atCommand = false;
    return null;
  }
  if (char === '|' || char === '[') {
    state.atCommand = true;
    return 'operator';
  }
  if (/[A-Za-z_]/.test(char)) return word(stream, state, char);
  state.atCommand = false;
  if (/\d/.test(char) && stream.match(/^[\d.]*(?![\w.])/)) return 'number';
  return /[\]()=<>!,+*/%-]/.test(char) ? 'operator' : null;
}

/** Reads `'a | b'` up to its end. The apostrophes in `don't` and `\'` begin no name. */
function isQuotedField(stream: StringStream): boolean {
  const before = stream.string.charAt(stream.start - 1);
  return !/[\w\\]/.test(before) && stream.match(/^[^'\\\n]*(?:\\.[^'\\\n]*)*'(?!\w)/) !== null;
}

function word(stream: StringStream, state: SplState, first: string): SplToken {
  stream.match(/^[\w.:{}@-]*/);
  const text = (first + stream.current().slice(1)).toLowerCase();
  if (state.atCommand) {
    state.atCommand = false;
    return COMMANDS.has(text) ? 'keyword' : 'invalid';
  }
  if (stream.match(/^\s*\(/, false) && FUNCTIONS.has(text)) return 'function';
  if (stream.match(/^\s*(?:[=<>]|!=)/, false)) return 'propertyName';
  return KEYWORDS.has(text) ? 'keyword' : null;
}

function skipQuoted(stream: StringStream): SplToken {
  let escaped = false;
  for (let char = stream.next(); char; char = stream.next()) {
    if (char === '"' && !escaped) break;
    escaped = char === '\\' && !escaped;
  }
  return 'string';
}

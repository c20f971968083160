/**
 * Just enough of SPL's lexical rules to edit a search safely: where the top-level pipes are, and
 * how values and field names are quoted. Parsing and judging belong to the server.
 */

/** Offsets of the pipes outside quotes, subsearches, macros and comments. */
export function topLevelPipes(query: string): number[] {
  const pipes: number[] = [];
  let depth = 0;
  for (let at = 0; at < query.length; at += 1) {
    const char = query[at];
    if (char === '"') at = skipQuoted(query, at);
    else if (query.startsWith('```', at)) at = skipTo(query, '```', at + 3) + 2;
    else if (char === '`') at = skipTo(query, '`', at + 1);
    else if (char === '[') depth += 1;
    else if (char === ']') depth = Math.max(0, depth - 1);
    else if (char === '|' && depth === 0) pipes.push(at);
  }
  return pipes;
}

function skipQuoted(query: string, open: number): number {
  for (let at = open + 1; at < query.length; at += 1) {
    if (query[at] === '\\') at += 1;
    else if (query[at] === '"') return at;
  }
  return query.length;
}

function skipTo(query: string, closing: string, from: number): number {
  const found = query.indexOf(closing, from);
  return found === -1 ? query.length : found;
}

/** A search to which commands are added: a pipe at its end has no effect, but two in a row are a mistake. */
export function withoutLastPipe(query: string): string {
  const text = query.trim();
  return topLevelPipes(text).at(-1) === text.length - 1 ? text.slice(0, -1).trim() : text;
}

/** The search before the first pipe; empty for searches that begin with a command. */
export function baseSearch(query: string): string {
  const first = topLevelPipes(query)[0];
  return (first === undefined ? query : query.slice(0, first)).trim();
}

export function quoted(value: string): string {
  return `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
}

const PLAIN_FIELD = /^[A-Za-z_][A-Za-z0-9_.:{}@-]*$/;
const KEYWORD = /^(?:as|by|over|where|sortby|with|in|notin|from|and|or|not|d)$/i;

/** A field name for the search command and for command arguments. */
export function fieldName(field: string): string {
  return PLAIN_FIELD.test(field) && !KEYWORD.test(field) ? field : quoted(field);
}

/** A field name inside eval and where. */
export function evalFieldName(field: string): string {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(field) ? field : `'${field}'`;
}

/** Whether a search without pipes has an OR outside quotes and parentheses. */
export function hasTopLevelOr(base: string): boolean {
  let depth = 0;
  for (let at = 0; at < base.length; at += 1) {
    const char = base[at];
    if (char === '"') at = skipQuoted(base, at);
    else if (char === '(' || char === '[') depth += 1;
    else if (char === ')' || char === ']') depth -= 1;
    else if (depth === 0 && /^OR\s/.test(base.slice(at)) && /\s$/.test(base.slice(0, at)))
      return true;
  }
  return false;
}

/**
 * Rewrites of a search made by clicking. Each takes and returns SPL text; a value found in the
 * data can never change the meaning of the rest of the search.
 */

import {
  baseSearch,
  evalFieldName,
  fieldName,
  hasTopLevelOr,
  quoted,
  topLevelPipes,
  withoutLastPipe,
} from './syntax';

/** Adds `field="value"` to the search. */
export function withFieldValue(query: string, field: string, value: string): string {
  return withTerm(query, comparison(field, '=', value), comparison(field, '!=', value));
}

/** Adds `field!="value"` to the search. */
export function withoutFieldValue(query: string, field: string, value: string): string {
  return withTerm(query, comparison(field, '!=', value), comparison(field, '=', value));
}

/** Adds `field=*`: only events that have the field. */
export function withFieldPresent(query: string, field: string): string {
  return withTerm(query, { text: `${fieldName(field)}=*`, command: 'search' }, null);
}

interface Term {
  text: string;
  command: 'search' | 'where';
}

/** `*` is a wildcard in `search` even inside quotes, so such values are compared by `where`. */
function comparison(field: string, operator: '=' | '!=', value: string): Term {
  if (value.includes('*')) {
    return { text: `${evalFieldName(field)}${operator}${quoted(value)}`, command: 'where' };
  }
  return { text: `${fieldName(field)}${operator}${quoted(value)}`, command: 'search' };
}

function withTerm(query: string, term: Term, opposite: Term | null): string {
  const whole = withoutLastPipe(query);
  const cleaned = opposite ? withoutTerm(whole, opposite) : whole;
  if (includesTerm(cleaned, term.text)) return cleaned;
  const pipes = topLevelPipes(cleaned);
  if (pipes.length > 0 || term.command === 'where') {
    const base = cleaned === '' ? '*' : cleaned;
    return `${base} | ${term.command} ${term.text}`;
  }
  if (cleaned === '' || cleaned === '*') return term.text;
  return hasTopLevelOr(cleaned) ? `(${cleaned}) ${term.text}` : `${cleaned} ${term.text}`;
}

function termAt(query: string, text: string): number {
  for (let from = 0; ; ) {
    const at = query.indexOf(text, from);
    if (at === -1) return -1;
    const before = at === 0 ? ' ' : (query[at - 1] ?? ' ');
    const after = query[at + text.length] ?? ' ';
    if (/\s/.test(before) && /\s/.test(after)) return at;
    from = at + 1;
  }
}

function includesTerm(query: string, text: string): boolean {
  const at = termAt(query, text);
  return at !== -1 && !precededByOperator(query, at) && !followedByOr(query, at + text.length);
}

function precededByOperator(query: string, at: number): boolean {
  return /\b(?:NOT|OR)\s+$/.test(query.slice(0, at));
}

function followedByOr(query: string, at: number): boolean {
  return /^\s+OR\b/.test(query.slice(at));
}

/** Takes out a term that the new one contradicts, only where it stands alone. */
function withoutTerm(query: string, term: Term): string {
  const command = `| ${term.command} ${term.text}`;
  if (query.endsWith(command)) return query.slice(0, -command.length).trim();
  if (topLevelPipes(query).length > 0) return query;
  const at = termAt(query, term.text);
  if (at === -1 || precededByOperator(query, at) || followedByOr(query, at + term.text.length)) {
    return query;
  }
  return `${query.slice(0, at)}${query.slice(at + term.text.length).trimStart()}`.trim();
}

export type QuickReport = 'top' | 'rare' | 'topOverTime' | 'averageOverTime' | 'maximumOverTime';

export const QUICK_REPORTS: readonly { report: QuickReport; label: string; numeric: boolean }[] = [
  { report: 'top', label: 'Top values', numeric: false },
  { report: 'topOverTime', label: 'Top values over time', numeric: false },
  { report: 'rare', label: 'Rare values', numeric: false },
  { report: 'averageOverTime', label: 'Average over time', numeric: true },
  { report: 'maximumOverTime', label: 'Maximum over time', numeric: true },
];

const REPORT_COMMAND: Record<QuickReport, (field: string) => string> = {
  top: (field) => `top limit=20 ${field}`,
  rare: (field) => `rare limit=20 ${field}`,
  topOverTime: (field) => `timechart limit=10 count by ${field}`,
  averageOverTime: (field) => `timechart avg(${field})`,
  maximumOverTime: (field) => `timechart max(${field})`,
};

export function withQuickReport(query: string, field: string, report: QuickReport): string {
  return `${withoutLastPipe(query) || '*'} | ${REPORT_COMMAND[report](fieldName(field))}`;
}

/** The statistics of a field with numbers, one column each. */
export function withNumbers(query: string, field: string): string {
  const name = fieldName(field);
  const parts = ['min', 'avg', 'median', 'p95', 'max', 'stdev', 'sum'].map(
    (each) => `${each}(${name}) AS ${each}`,
  );
  return `${withoutLastPipe(query) || '*'} | stats ${parts.join(' ')}`;
}

/** The search for the events behind a report. */
export function eventsBehind(query: string): string {
  return baseSearch(query) || '*';
}

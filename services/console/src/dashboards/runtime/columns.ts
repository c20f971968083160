/**
 * Which field of the events a column of a result has the values of: conditions for the events behind a row need
 * it. Follows a column backwards through the commands behind the events. A column that a report computes, or that
 * `eval` has made of other values, has none.
 */

import { isReport } from './effects';
import { behindEvents, commandsOf } from './links';

/** Options of a command, such as `limit=5`, and the condition of a chart for its series. */
export const OPTIONS = /(?:^|\s)\w+\s*=\s*(?:"[^"]*"|[^\s"]+)|\swhere\s.*$/gis;

export const NAME = `"(?:[^"\\\\]|\\\\.)*"|'[^']*'|[^\\s,"']+`;

const plain = (name: string) => name.replace(/^(["'])(.*)\1$/s, '$2').replace(/\\(["\\])/g, '$1');
export const names = (text: string) => (text.match(new RegExp(NAME, 'g')) ?? []).map(plain);

/** The fields by which a report groups. */
export function groupOf(command: string): string[] {
  if (/^(?:si)?(?:top|rare)\b/i.test(command)) {
    const fields = names(command.replace(/^\w+/, '').replace(OPTIONS, ''));
    return fields.filter((name) => !/^by$/i.test(name));
  }
  const over = new RegExp(`\\bover\\s+(${NAME})`, 'i').exec(command)?.[1] ?? '';
  const by = /\bby\s+(.*)$/is.exec(command)?.[1] ?? '';
  const time = /^(?:si)?timechart\b/i.test(command) ? ['_time'] : [];
  return [...time, ...names(`${over} ${by.replace(OPTIONS, '')}`)];
}

/** `rename A as B`, also of several; names with `*` are not followed. */
function renamedFrom(command: string, column: string): string {
  const pairs = command.matchAll(new RegExp(`(${NAME})\\s+as\\s+(${NAME})`, 'gi'));
  const found = [...pairs].find(([, , to = '']) => plain(to) === column);
  return plain(found?.[1] ?? column);
}

/** Whether a command in front of a report, or behind it, gives a column other values. */
function changes(command: string, column: string): boolean {
  if (/^bin\b/i.test(command)) {
    return column !== '_time' && names(command.replace(OPTIONS, '')).includes(column);
  }
  if (/^(?:event|stream)stats\b/i.test(command)) {
    const made = command.matchAll(new RegExp(`\\sas\\s+(${NAME})`, 'gi'));
    return [...made].some(([, name = '']) => plain(name) === column);
  }
  if (/^rex\b/i.test(command)) return command.includes(`<${column}>`);
  if (/^lookup\b/i.test(command)) {
    const output = /\soutput(?:new)?\s+(.*)$/is.exec(command)?.[1];
    // Without OUTPUT, its fields are those of the lookup, which the search does not name.
    return output !== undefined && names(output).includes(column);
  }
  if (!/^eval\b/i.test(command)) return false;
  let outer = command.replace(/^eval/i, ',');
  // Within functions, `=` compares.
  for (let before = ''; before !== outer; ) {
    before = outer;
    outer = outer.replace(/\([^()]*\)/g, '');
  }
  const assigned = outer.matchAll(/,\s*("[^"]*"|'[^']*'|[^\s,"'=]+)\s*=/g);
  return [...assigned].some(([, name = '']) => plain(name) === column);
}

/** The name of a column in front of commands; null for one that they make. `isResult`: also of other values. */
export function inFront(commands: string[], column: string, isResult = false): string | null {
  let name = column;
  for (const command of [...commands].reverse()) {
    if (/^rename\b/i.test(command)) name = renamedFrom(command, name);
    else if (!isResult && changes(command, name)) return null;
    else if (isReport(command) && !groupOf(command).includes(name)) return null;
  }
  return name;
}

export interface Columns {
  /** The first report; empty without one. */
  report: string;
  /** The field to ask for the values of a column; null where the events have none. */
  fieldOf: (column: string) => string | null;
}

export function columnsOf(search: string): Columns {
  const commands = commandsOf(search);
  const { isGenerated, cut } = behindEvents(commands);
  const at = commands.findIndex(isReport);
  return {
    report: commands[at] ?? '',
    fieldOf: (column) => {
      const name = inFront(commands.slice(cut), column, isGenerated);
      // What makes its own rows is asked for the columns of its result.
      return name !== null && isGenerated ? column : name;
    },
  };
}

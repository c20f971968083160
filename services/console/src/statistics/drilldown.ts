/** From a cell of a report to the events that it counts: conditions for the fields of its group, and its time. */

import { commandsOf, eventsBehind } from '../dashboards/runtime/links';
import { absoluteRange, type TimeRange } from '../time/timeRange';
import { parseTime } from '../time/zone';
import { cellText, type Row, type Table } from './table';

export interface Behind {
  query: string;
  /** The span of the row; null for the range of the report. */
  range: TimeRange | null;
}

type Asked = Pick<Table, 'columns' | 'cells'>;

const REPORT = /^(?:si)?(?:stats|chart|timechart|top|rare)\b/i;
/** Columns of charts that are no value of their field. */
const REST = new Set(['OTHER', 'NULL']);

const escaped = (text: string) => text.replace(/[\\^$.|?*+()[\]{}/-]/g, '\\$&');

/** Options of a command, such as `limit=5`, and the condition of a chart for its series. */
const OPTIONS = /(?:^|\s)\w+\s*=\s*(?:"[^"]*"|[^\s"]+)|\swhere\s.*$/gis;

/** The fields by which a report groups, as they stand in its command. */
function groupOf(command: string): string {
  if (/^(?:si)?(?:top|rare)\b/i.test(command)) {
    return command.replace(/^\w+/, '').replace(OPTIONS, '').trim();
  }
  const over = /\bover\s+(\S+)/i.exec(command)?.[1] ?? '';
  const by = /\bby\s+(.*)$/is.exec(command)?.[1] ?? '';
  return `${over} ${by.replace(OPTIONS, '')}`.trim();
}

export function eventsOfCell(query: string, table: Asked, row: Row, column: number): Behind {
  const command = commandsOf(query).find((one) => REPORT.test(one)) ?? '';
  const group = groupOf(command);
  const isOfGroup = (name: string) =>
    new RegExp(`(?:^|[\\s,"'])${escaped(name)}(?:$|[\\s,"'])`).test(group);
  const terms = table.columns.flatMap((name, at): [string, string][] => {
    const cell = row[at] ?? null;
    return typeof cell === 'string' && isOfGroup(name) ? [[name, cell]] : [];
  });
  const series = table.columns[column] ?? '';
  const split = /^(?:si)?(?:time)?chart\b/i.test(command)
    ? /(["'])((?:(?!\1).)+)\1$|[^\s,"']+$/.exec(group)
    : null;
  const isSeries = column > 0 && !REST.has(series) && !series.includes(': ') && !isOfGroup(series);
  const field = split?.[2] ?? split?.[0] ?? '';
  // A chart of one field has no column for each of its values.
  if (isSeries && field !== '' && !table.columns.includes(field)) terms.push([field, series]);
  return { query: eventsBehind(query, terms), range: rangeOf(table, row) };
}

/** From the time of a row to that of the next one. */
function rangeOf({ columns, cells }: Asked, row: Row): TimeRange | null {
  const at = columns.indexOf('_time');
  if (at === -1) return null;
  const [first, second] = cells(at)
    .slice(0, 2)
    .map((cell) => parseTime(cellText(cell)));
  const start = parseTime(cellText(row[at] ?? null));
  if (start === null || first == null || second == null || second <= first) return null;
  return absoluteRange(start, start + second - first);
}

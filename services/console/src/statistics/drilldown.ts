/** From a cell of a report to the events that it counts: conditions for the fields of its group, and its time. */

import { commandsOf, eventsBehind } from '../dashboards/runtime/links';
import { absoluteRange, type TimeRange } from '../time/timeRange';
import { epochToWall, isoTime, type WallTime, wallToEpoch } from '../time/zone';
import { cellText, type Row, type Table } from './table';

export interface Behind {
  query: string;
  /** The span of the row; null for the range of the report. */
  range: TimeRange | null;
}

type Asked = Pick<Table, 'columns' | 'cells' | 'time' | 'span'>;

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

const isNamed = (name: string, group: string) =>
  new RegExp(`(?:^|[\\s,"'])${escaped(name)}(?:$|[\\s,"'])`).test(group);

/** Null where the row is of a span of time that is not known. */
export function eventsOfCell(
  query: string,
  table: Asked,
  row: Row,
  column: number,
  zone: string,
): Behind | null {
  const reports = commandsOf(query).filter((one) => REPORT.test(one));
  const command = reports[0] ?? '';
  const group = groupOf(command);
  const isOfGroup = (name: string) => isNamed(name, group);
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
  // `stats latest(_time) as _time` groups by no time.
  const isOfTime =
    table.columns.includes('_time') &&
    (command === '' ||
      reports.some((one) => /^(?:si)?timechart/i.test(one) || isNamed('_time', groupOf(one))));
  const range = isOfTime ? rangeOf(table, row, zone) : null;
  if (isOfTime && range === null) return null;
  return { query: eventsBehind(query, terms), range };
}

/** The span of a row: that of the report, else the smallest distance of two of its times. */
function rangeOf({ time, span, cells }: Asked, row: Row, zone: string): TimeRange | null {
  const start = isoTime(cellText(row[time] ?? null));
  if (start === null) return null;
  const found = new Set(cells(time).map((cell) => isoTime(cellText(cell))));
  const times = [...found].filter((one) => one !== null).sort((a, b) => a - b);
  const least = times.reduce(
    (gap, one, at) => Math.min(gap, one - (times[at - 1] ?? Number.NEGATIVE_INFINITY)),
    Number.POSITIVE_INFINITY,
  );
  const length = span > 0 ? span : least;
  if (!Number.isFinite(length)) return null;
  // Between two times the clock may change by an hour; `_span` is that of a day without a change.
  return absoluteRange(start, endOf(start, length, span > 0 ? 0 : 3_600, times, zone));
}

const DAY = 86_400;
/** Days of a month, on average. */
const MONTH = 30.4;

/** Days and months by the calendar: they have different lengths. */
function endOf(
  start: number,
  length: number,
  clockChange: number,
  times: number[],
  zone: string,
): number {
  const wall = epochToWall(start, zone);
  const isMidnight = (one: WallTime) => one.hour + one.minute + one.second === 0;
  const days = Math.round(length / DAY);
  if (!isMidnight(wall) || days === 0 || Math.abs(length - days * DAY) > clockChange) {
    return start + length;
  }
  const isFirst = (one: WallTime) => one.day === 1 && isMidnight(one);
  const isMonths = days >= 28 && times.every((one) => isFirst(epochToWall(one, zone)));
  if (isMonths) wall.month += Math.round(days / MONTH);
  else wall.day += days;
  return wallToEpoch(wall, zone);
}

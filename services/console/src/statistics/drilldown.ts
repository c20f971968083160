/** From a cell of a report to the events that it counts: conditions for the fields of its group, and its time. */

import { columnsOf, groupOf } from '../dashboards/runtime/columns';
import { isReport } from '../dashboards/runtime/effects';
import { commandsOf, eventsBehind } from '../dashboards/runtime/links';
import { seriesCondition } from '../dashboards/runtime/series';
import { absoluteRange, type TimeRange } from '../time/timeRange';
import { epochToWall, isoTime, type WallTime, wallToEpoch } from '../time/zone';
import { cellText, type Row, type Table } from './table';

export interface Behind {
  query: string;
  /** The span of the row; null for the range of the report. */
  range: TimeRange | null;
}

type Asked = Pick<Table, 'columns' | 'cells' | 'time' | 'span'>;

/** Null where the row is of a span of time that is not known, or no column says of which group it is. */
export function eventsOfCell(
  query: string,
  table: Asked,
  row: Row,
  column: number,
  zone: string,
): Behind | null {
  const { report, fieldOf } = columnsOf(query);
  const group = groupOf(report);
  const terms = table.columns.flatMap((name, at): [string, ...string[]][] => {
    const cell = row[at] ?? null;
    const field = report === '' ? null : fieldOf(name);
    return typeof cell === 'string' && field !== null ? [[field, cell]] : [];
  });
  const shown = table.columns[column] ?? '';
  const isSeries = column > 0 && fieldOf(shown) === null;
  const series = isSeries ? seriesCondition(query, shown, false) : null;
  const [value, ...others] = series?.values ?? [];
  if (series && value !== undefined) terms.push([series.field, value, ...others]);
  const absent = series?.isAbsent ? series.field : '';
  // `stats latest(_time) as _time` groups by no time.
  const isOfTime =
    table.columns.includes('_time') &&
    (report === '' ||
      commandsOf(query).some((one) => isReport(one) && groupOf(one).includes('_time')));
  const range = isOfTime ? rangeOf(table, row, zone) : null;
  if (isOfTime && range === null) return null;
  // Under another name, the time of a row says no range.
  const hasOtherTime = !isOfTime && terms.some(([name]) => name === '_time');
  const isOfNone = group.length > 0 && !isOfTime && terms.length === 0 && absent === '';
  if (hasOtherTime || isOfNone) return null;
  return { query: eventsBehind(query, terms, absent), range };
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

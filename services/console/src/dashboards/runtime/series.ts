/** Which events a series of a chart is of: those with a value of the field by which the report is split. */

import { groupOf, inFront, NAME, names, OPTIONS } from './columns';
import { isReport } from './effects';
import { behindEvents, commandsOf } from './links';

export interface SeriesCondition {
  field: string;
  /** One of these; none for a series of no single value, such as OTHER. */
  values: string[];
  /** Whether the series is of the events that lack the field. */
  isAbsent: boolean;
}

/** Commands that leave the columns of a split report; what they add themselves is known. */
const KEEPS =
  /^(?:rename|eval|fields|table|sort|head|tail|reverse|dedup|where|search|fillnull|filldown|makecontinuous|eventstats|streamstats|addtotals|addcoltotals)\b/i;

/** The field that makes the series of a report; undefined without one, and for ranges of its values. */
function splitField(report: string): string | undefined {
  if (!/^(?:si)?(?:time)?chart\b/i.test(report)) return undefined;
  const isTime = /^(?:si)?timechart\b/i.test(report);
  const by = /\bby\s+(.*)$/is.exec(report)?.[1] ?? '';
  if (!isTime && /\b(?:span|bins|start|end)\s*=/i.test(by)) return undefined;
  return groupOf(report)[1];
}

/** Whether the names of series begin with the aggregation that they are of: `count: web`. */
function hasSeveralAggregations(report: string): boolean {
  let text = report.replace(/^\w+/, '');
  for (let before = ''; before !== text; ) {
    before = text;
    text = text.replace(/\([^()]*\)/g, '');
  }
  const own = text.replace(/\s(?:over|by)\s.*$/is, '').replace(OPTIONS, ' ');
  return names(own.replace(new RegExp(`\\s+as\\s+(?:${NAME})`, 'gi'), '')).length > 1;
}

const optionOf = (report: string, name: string): string | undefined =>
  new RegExp(`\\s${name}\\s*=\\s*(?:"([^"]*)"|([^\\s"]+))`, 'i')
    .exec(report)
    ?.slice(1)
    .find(Boolean);

/** What `addtotals` calls its column. */
const totalOf = (command: string): string => optionOf(command, 'fieldname') ?? 'Total';

const bare = (text: string): string => text.replace(/["'\s]/g, '');

/** Whether a command behind the report makes the column, or may do so. */
function makes(command: string, column: string): boolean {
  if (/^addtotals\b/i.test(command)) return totalOf(command) === column;
  // Names with `*` are not followed.
  if (/^rename\b/i.test(command)) return command.includes('*');
  // `eventstats avg(x)` without AS.
  return (
    /^(?:event|stream)stats\b/i.test(command) &&
    column.includes('(') &&
    bare(command).includes(bare(column))
  );
}

/** What aggregations of several are told apart by: `count: web`. */
const SEPARATOR = ': ';

/** The value in the name of a column; null where the name does not say it. */
function valueIn(report: string, name: string, isValue: boolean): string | null {
  if (optionOf(report, 'format') !== undefined) return null;
  if (!hasSeveralAggregations(report)) return name;
  const separator = optionOf(report, 'sep') ?? SEPARATOR;
  if (isValue) return separator === SEPARATOR ? name : null;
  const at = name.indexOf(separator);
  return at === -1 ? null : name.slice(at + separator.length);
}

/**
 * The condition of a series; null where the search is not split by a field of the events. `isValue`: the name is
 * the value alone, also of several aggregations, as in a panel of a trellis.
 */
export function seriesCondition(
  search: string,
  column: string,
  isValue: boolean,
): SeriesCondition | null {
  const commands = commandsOf(search);
  const { isGenerated, cut } = behindEvents(commands);
  const at = commands.findIndex(isReport);
  const report = commands[at] ?? '';
  const split = splitField(report);
  if (isGenerated || split === undefined) return null;
  const behind = commands.slice(at + 1);
  if (behind.some((command) => !KEEPS.test(command))) return null;
  const field = inFront(commands.slice(cut, at + 1), split);
  if (field === null) return null;
  const none = { field, values: [], isAbsent: false };
  const name = behind.some((one) => makes(one, column)) ? null : inFront(behind, column);
  const value = name === null ? null : valueIn(report, name, isValue);
  if (value === null || value === (optionOf(report, 'otherstr') ?? 'OTHER')) return none;
  if (value === (optionOf(report, 'nullstr') ?? 'NULL')) return { ...none, isAbsent: true };
  // The series of `_internal` is named `VALUE_internal`, and a value may have this name itself.
  const hidden = value.startsWith('VALUE_') ? [value.replace(/^VALUE_/, '_')] : [];
  return { ...none, values: [...hidden, value] };
}

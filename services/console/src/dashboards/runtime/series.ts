/** Which events a series of a chart is of: those with a value of the field by which the report is split. */

import { groupOf, inFront, NAME, names, OPTIONS } from './columns';
import { isReport } from './effects';
import { behindEvents, commandsOf } from './links';

export interface SeriesCondition {
  field: string;
  /** One of these; none where the field is missing. */
  values: string[];
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

/**
 * The condition of a series; null where the search has none for it. `isAggregation`: the column is of one
 * aggregation, as in a panel of a trellis, and its name is the value alone.
 */
export function seriesCondition(
  search: string,
  column: string,
  isAggregation: boolean,
): SeriesCondition | null {
  const commands = commandsOf(search);
  const { isGenerated, cut } = behindEvents(commands);
  const at = commands.findIndex(isReport);
  const report = commands[at] ?? '';
  const split = splitField(report);
  if (isGenerated || split === undefined) return null;
  const behind = commands.slice(at + 1);
  const isMade = (command: string) =>
    !KEEPS.test(command) || (/^addtotals\b/i.test(command) && totalOf(command) === column);
  if (behind.some(isMade)) return null;
  const field = inFront(commands.slice(cut, at + 1), split);
  const name = inFront(behind, column);
  if (field === null || name === null) return null;
  const colon = name.indexOf(': ');
  const hasName = hasSeveralAggregations(report) && !isAggregation;
  if (hasName && colon === -1) return null;
  const value = hasName ? name.slice(colon + 2) : name;
  if (value === (optionOf(report, 'otherstr') ?? 'OTHER')) return null;
  if (value === (optionOf(report, 'nullstr') ?? 'NULL')) return { field, values: [] };
  // The series of `_internal` is named `VALUE_internal`, and a value may have this name itself.
  const hidden = value.startsWith('VALUE_') ? [value.replace(/^VALUE_/, '_')] : [];
  return { field, values: [...hidden, value] };
}

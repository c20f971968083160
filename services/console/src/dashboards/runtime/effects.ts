/**
 * What commands make of events, for clicks, which lead from a value back to the events behind it. This is the only
 * list of such commands; others leave events as they are, but for their fields.
 */

/**
 * - `group`: rows of groups, whose fields stand behind BY or are the arguments
 * - `summary`: further rows whose columns are fields of events only where they group by them
 * - `rows`: other rows that are no events
 * - `events`: events still, but fewer, in another order, or with fields of all of them
 */
type Effect = 'group' | 'summary' | 'rows' | 'events';

const COMMANDS: Record<Effect, string> = {
  group: 'chart rare sichart sirare sistats sitimechart sitop stats timechart top',
  summary: 'contingency fieldsummary geostats mstats transpose tstats',
  rows: 'addtotals join makeresults mvcombine outlier table transaction untable xyseries',
  events: 'bin bucket dedup eventstats head sort streamstats tail',
};

export const EFFECTS: ReadonlyMap<string, Effect> = new Map(
  Object.entries(COMMANDS).flatMap(([effect, names]) =>
    names.split(' ').map((name) => [name, effect as Effect] as const),
  ),
);

/** Null for a command that is not in the list. */
export const effectOf = (command: string): Effect | null =>
  EFFECTS.get(/^\w+/.exec(command)?.[0]?.toLowerCase() ?? '') ?? null;

/** Whether the rows of a command are of groups of events. */
export function isReport(command: string): boolean {
  const effect = effectOf(command);
  return effect === 'group' || effect === 'summary';
}

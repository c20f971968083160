/** The ranges that one is compared with, and which searches can run a second time for it. */

import { topLevelPipes } from '../query/syntax';
import { absoluteRange, type TimeRange } from '../time/timeRange';

export const AGAINST = ['window', 'day', 'week'] as const;
export type Against = (typeof AGAINST)[number];

export const AGAINST_NAMES: Record<Against, string> = {
  window: 'the window before',
  day: 'the same time a day before',
  week: 'the same time a week before',
};

const DAY = 86_400;

/** Null where the range has no beginning. */
export function earlier(earliest: string, latest: string, against: Against): TimeRange | null {
  const start = Date.parse(earliest) / 1000;
  const end = Date.parse(latest) / 1000;
  if (!(end > start) || start <= 0) return null;
  const by = against === 'window' ? end - start : against === 'day' ? DAY : 7 * DAY;
  return start - by <= 0 ? null : absoluteRange(start - by, end - by);
}

/**
 * Whether a search may run again without being asked for: commands, macros and searches within it may change
 * something.
 */
export const isPlain = (query: string): boolean =>
  topLevelPipes(query).length === 0 && !/[`[|]/.test(query);

/** Whether events are older than the retention of their index, which removes them soon after they were loaded. */

import { formatEpoch } from '../time/zone';
import { ENDLESS, indexes, keptFor } from './indexKind';

/** The key of the retentions: a list of indexes, so that a change of one on their page counts at once. */
export const RETENTIONS = ['objects', indexes.path, 'retention'] as const;

/** The times of events in epoch seconds; null where no event has one. */
export interface Span {
  earliest: number | null;
  latest: number | null;
  /** Whether others may follow: the preview reads the beginning of a text. */
  isPart?: boolean;
}

/** An index, and its `frozenTimePeriodInSecs`; null where it is not known. */
export interface Retention {
  index: string;
  seconds: number | null;
}

/**
 * What has to be known before events are loaded, or after; null where the index keeps all of them. After the load, not
 * to load the text again: what was not removed would be stored twice.
 */
export function retentionWarning(
  { earliest, latest, isPart = false }: Span,
  { index, seconds }: Retention,
  now: number,
  zone: string,
  isLoaded = false,
): string | null {
  if (seconds === null || seconds >= ENDLESS || earliest === null || latest === null) return null;
  const since = now - seconds;
  if (earliest >= since) return null;
  const areAll = latest < since && !isPart;
  const which = areAll ? 'All events' : `The events before ${formatEpoch(since, zone)} (${zone})`;
  const kept = `the retention of the index ${index} (${keptFor(seconds)}, frozenTimePeriodInSecs)`;
  // A bucket is removed once its newest event is too old.
  const removes = areAll ? 'removes them' : 'may remove them';
  const advice = isLoaded
    ? 'raise it now. What is removed by then has to be loaded again'
    : 'raise it first';
  return `${which} are older than ${kept}, which ${removes} from searches within minutes: ${advice}`;
}

/** Whether a result is all of it, in one word, and what is missing if not. */

import { readable } from '../api/messageText';
import type { JobStatus } from '../api/types';
import { grouped } from '../app/format';
import type { SearchState } from './searchRun';

export type Completeness = 'complete' | 'preview' | 'partial' | 'failed';

export interface Judgement {
  is: Completeness;
  label: string;
  /** What is missing or has to be known, one sentence each. */
  reasons: string[];
}

/** Events beyond the limit are counted, and looked at by clicking the timeline: nothing is missing. */
export const isAboutKeptEvents = (text: string): boolean => text.includes('(max_count)');

/** Whether the results of a job are not all events that it found. */
export const lacksEvents = (job: JobStatus): boolean =>
  job.reportSearch === null && job.eventIsTruncated;

const WARNINGS = new Set(['WARN', 'WARNING', 'ERROR', 'FATAL']);

export function judge({ phase, job, error }: SearchState): Judgement | null {
  if (!job || phase === 'idle' || phase === 'held') return null;
  const said = job.messages.filter(({ text }) => text !== '' && !isAboutKeptEvents(text));
  const warnings = said
    .filter((message) => WARNINGS.has(message.type))
    .map(({ text }) => readable(text));
  const notes = said.filter(({ type }) => type === 'INFO').map(({ text }) => readable(text));
  if (phase === 'failed') return { is: 'failed', label: 'Failed', reasons: warnings };
  if (phase === 'running' || phase === 'starting') {
    const reasons = error ? [...warnings, error.message] : warnings;
    return {
      is: reasons.length > 0 ? 'partial' : 'preview',
      label: reasons.length > 0 ? 'Preview, incomplete' : 'Preview',
      reasons: [...reasons, ...notes],
    };
  }
  const missing: string[] = [];
  if (job.isFinalized) missing.push('The search was stopped before it had read everything.');
  if (job.isPartial && warnings.length === 0) {
    missing.push('A part of the data could not be searched.');
  }
  missing.push(...warnings);
  if (job.eventIsTruncated) {
    missing.push(
      `Not all matching events are kept for paging; the count of ${grouped(job.eventCount)} includes all.`,
    );
  }
  const isWhole = !job.isFinalized && !job.isPartial && warnings.length === 0;
  if (isWhole) return { is: 'complete', label: 'Complete', reasons: [...missing, ...notes] };
  return { is: 'partial', label: 'Incomplete', reasons: [...missing, ...notes] };
}

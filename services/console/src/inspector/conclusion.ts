/** What the numbers of a search say, in a few sentences: where its time went and what it did not have to read. */

import type { Inspection } from '../api/types';
import { grouped, percent } from '../app/format';
import { duration, size } from './inspection';

const PHASES: Record<string, string> = {
  plan: 'planning the search',
  queue: 'waiting in the queue',
  prune: 'choosing buckets',
  terms: 'looking words up in the term index',
  open: 'opening buckets',
  read: 'reading blocks',
  decode: 'decoding events',
  filter: 'filtering events',
  extract: 'extracting fields',
  aggregate: 'aggregating',
  sort: 'sorting',
  preview: 'making previews',
  finalize: 'finishing the results',
};

export const phaseText = (name: string): string => PHASES[name] ?? name;

/** Below this share, no phase is worth naming. */
const NOTABLE_SHARE = 0.3;

export function conclusions(inspection: Inspection): string[] {
  const found = [timeSentence(inspection), pruningSentence(inspection), readSentence(inspection)];
  return found.filter((sentence) => sentence !== null);
}

function timeSentence({ phases, runDuration }: Inspection): string {
  const whole = phases.reduce((sum, phase) => sum + phase.seconds, 0);
  const [first] = [...phases].sort((a, b) => b.seconds - a.seconds);
  const ran = `It ran ${duration(runDuration)}`;
  if (!first || whole <= 0 || first.seconds / whole < NOTABLE_SHARE) return `${ran}.`;
  return `${ran}; ${percent(first.seconds, whole)} of the work was ${phaseText(first.name)}.`;
}

function pruningSentence({ scan }: Inspection): string | null {
  const considered = scan.buckets_considered ?? 0;
  if (considered === 0) return null;
  const reasons = [
    ['by time', scan.buckets_pruned_by_time ?? 0],
    ['by summary', scan.buckets_pruned_by_summary ?? 0],
    ['by words', scan.buckets_pruned_by_terms ?? 0],
    ['as the catalog had the count', scan.buckets_counted ?? 0],
  ] as const;
  const left = reasons.reduce((sum, [, count]) => sum + count, 0);
  if (left === 0 && considered === 1) return 'The only bucket could not be pruned.';
  if (left === 0) return `None of ${grouped(considered)} buckets could be pruned.`;
  const how = reasons
    .filter(([, count]) => count > 0)
    .map(([why, count]) => `${grouped(count)} ${why}`);
  return `${grouped(left)} of ${grouped(considered)} buckets were pruned: ${how.join(', ')}.`;
}

function readSentence({ tiers, scan }: Inspection): string | null {
  const bytes = (name: string) => tiers.find((tier) => tier.name === name)?.bytes ?? 0;
  const all = bytes('dram') + bytes('nvme') + bytes('store');
  const matched = scan.events_matched ?? 0;
  const scanned = scan.events_scanned ?? 0;
  const rate = scanned > 0 ? ` ${grouped(matched)} of ${grouped(scanned)} events matched.` : '';
  if (all === 0) return rate === '' ? null : rate.trim();
  const cached = percent(all - bytes('store'), all);
  return `${size(all)} were read, ${cached} of that from the cache.${rate}`;
}

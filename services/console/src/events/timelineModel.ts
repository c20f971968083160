/** Where a timeline's bars and ticks stand. Positions are fractions of the width, 0 to 1. */

import type { TimelineBucket } from '../api/types';
import { parseTime } from '../time/zone';

export interface Span {
  start: number;
  end: number;
}

/** The buckets' own span, widened to the searched range where that is known and near. */
export function timelineSpan(buckets: TimelineBucket[], earliest: string, latest: string): Span {
  const first = buckets[0];
  const last = buckets.at(-1);
  if (!first || !last) return { start: 0, end: 1 };
  const own = { start: first.start, end: last.start + last.duration };
  const length = own.end - own.start;
  const start = parseTime(earliest);
  const end = parseTime(latest);
  // A search over all time would squeeze the bars into a corner.
  const near = (bound: number, own: number) => Math.abs(bound - own) <= 20 * length;
  return {
    start: start !== null && start < own.start && near(start, own.start) ? start : own.start,
    end: end !== null && end > own.end && near(end, own.end) ? end : own.end,
  };
}

/** Round lengths, in seconds. */
const STEPS = [
  1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400,
  172_800, 604_800, 1_209_600, 2_592_000, 7_776_000, 31_536_000, 157_680_000, 630_720_000,
];

/** Columns at most over the whole axis: 2 to 3 pixels each on a screen. */
const MOST_COLUMNS = 400;

/**
 * The buckets as columns that are wide enough to be seen, in round lengths of the zone: a search over a day whose
 * events are of one hour has buckets of seconds. `offset` is the zone's, in seconds. Calendar months stay.
 */
export function columnsOf(buckets: TimelineBucket[], span: Span, offset: number): TimelineBucket[] {
  const first = buckets[0];
  const last = buckets.at(-1);
  const least = (span.end - span.start) / MOST_COLUMNS;
  if (!first || !last || first.duration >= least) return buckets;
  if (buckets.some((bucket) => bucket.duration !== first.duration)) return buckets;
  const step = STEPS.find((one) => one >= least && one % first.duration === 0);
  if (step === undefined) return buckets;
  const end = last.start + last.duration;
  const merged: TimelineBucket[] = [];
  let begin = Number.NaN;
  for (const { start, count } of buckets) {
    const round = Math.floor((start + offset) / step) * step - offset;
    const column = merged.at(-1);
    if (column && round === begin) {
      column.count += count;
      continue;
    }
    begin = round;
    const from = Math.max(round, first.start);
    merged.push({ start: from, duration: Math.min(round + step, end) - from, count });
  }
  return merged;
}

export function position(span: Span, epoch: number): number {
  return Math.min(1, Math.max(0, (epoch - span.start) / (span.end - span.start)));
}

/** The whole buckets that a stretch of the width touches; null when it touches none. */
export function brushedRange(buckets: TimelineBucket[], span: Span, from: number, to: number) {
  const length = span.end - span.start;
  const start = span.start + Math.min(from, to) * length;
  const end = span.start + Math.max(from, to) * length;
  const touched = buckets.filter(
    (bucket) => bucket.start < end && bucket.start + bucket.duration > start,
  );
  const first = touched[0];
  const last = touched.at(-1);
  return first && last ? { start: first.start, end: last.start + last.duration } : null;
}

/** Round moments to label, at most `most` of them. `offset` is the zone's, in seconds. */
export function ticks(span: Span, most: number, offset: number): number[] {
  const length = span.end - span.start;
  const step = STEPS.find((candidate) => length / candidate <= most) ?? length;
  const found: number[] = [];
  const first = Math.ceil((span.start + offset) / step) * step - offset;
  for (let tick = first; tick < span.end && found.length <= most; tick += step) found.push(tick);
  return found;
}

/** `21:15` within days, `11-20` across them, `11-20 21:00` between. */
export function tickLabel(wall: string, spanSeconds: number): string {
  if (spanSeconds < 300) return wall.slice(11, 19);
  if (spanSeconds <= 86_400) return wall.slice(11, 16);
  if (spanSeconds <= 4 * 86_400) return wall.slice(5, 16);
  return spanSeconds <= 300 * 86_400 ? wall.slice(5, 10) : wall.slice(0, 7);
}

/** A round number at or above the highest count, for the top of the scale. */
export function scaleTop(highest: number): number {
  if (highest <= 5) return Math.max(1, highest);
  const magnitude = 10 ** Math.floor(Math.log10(highest));
  return [1, 1.5, 2, 3, 4, 5, 6, 8, 10]
    .map((factor) => factor * magnitude)
    .find((top) => top >= highest) as number;
}

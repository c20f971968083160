/**
 * The time range of a search, exactly as the server takes it: two time modifiers
 * (`-15m`, `@d`, `-1d@d`, `now`, epoch seconds, or nothing for "unbounded").
 * Guarantees that what the picker shows is what is sent. Leaves the meaning of modifiers to the
 * server.
 */

import { formatEpoch } from './zone';

export interface TimeRange {
  earliest: string;
  latest: string;
}

export interface Preset {
  label: string;
  range: TimeRange;
}

const relativeToNow = (earliest: string): TimeRange => ({ earliest, latest: 'now' });

export const ALL_TIME: TimeRange = { earliest: '0', latest: '' };
export const DEFAULT_RANGE: TimeRange = relativeToNow('-24h');

export const PRESETS: readonly Preset[] = [
  { label: 'Last 15 minutes', range: relativeToNow('-15m') },
  { label: 'Last 60 minutes', range: relativeToNow('-60m') },
  { label: 'Last 4 hours', range: relativeToNow('-4h') },
  { label: 'Last 24 hours', range: relativeToNow('-24h') },
  { label: 'Last 7 days', range: relativeToNow('-7d') },
  { label: 'Last 30 days', range: relativeToNow('-30d') },
  { label: 'Today', range: relativeToNow('@d') },
  { label: 'Yesterday', range: { earliest: '-1d@d', latest: '@d' } },
  { label: 'All time', range: ALL_TIME },
];

export type Unit = 's' | 'm' | 'h' | 'd' | 'w' | 'mon' | 'y';

export const UNITS: readonly { unit: Unit; one: string; many: string }[] = [
  { unit: 's', one: 'second', many: 'seconds' },
  { unit: 'm', one: 'minute', many: 'minutes' },
  { unit: 'h', one: 'hour', many: 'hours' },
  { unit: 'd', one: 'day', many: 'days' },
  { unit: 'w', one: 'week', many: 'weeks' },
  { unit: 'mon', one: 'month', many: 'months' },
  { unit: 'y', one: 'year', many: 'years' },
];

const EPOCH = /^\d+(\.\d+)?$/;
const UNIT_NAMES =
  's|sec|secs|second|seconds|m|min|mins|minute|minutes|h|hr|hrs|hour|hours|d|day|days|' +
  'w|week|weeks|w[0-7]|mon|month|months|q|qtr|qtrs|quarter|quarters|y|yr|yrs|year|years';
const STEP = `[+-]\\d*(?:${UNIT_NAMES})`;
const NOW = 'now(?:\\(\\))?';
const MODIFIER = new RegExp(`^(?:${NOW})?(?:${STEP})*(?:@(?:${UNIT_NAMES})(?:${STEP})*)?$`, 'i');
const ISO = /^\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?$/i;
/** Splunk's `%m/%d/%Y:%H:%M:%S`. */
const AMERICAN = /^\d{1,2}\/\d{1,2}\/\d{4}(:\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?)?$/;

/** Whether the server will take the text as a bound; empty is "unbounded". */
export function isTimeModifier(text: string): boolean {
  return EPOCH.test(text) || ISO.test(text) || AMERICAN.test(text) || MODIFIER.test(text);
}

/** The bound without the `rt` of a real-time search; null for every other text. */
export function withoutRealTime(text: string, name: keyof TimeRange): string | null {
  const rest = /^rt(.*)$/i.exec(text)?.[1];
  if (rest === undefined) return null;
  if (rest !== '') return rest;
  return name === 'latest' ? 'now' : ALL_TIME.earliest;
}

export function sameRange(a: TimeRange, b: TimeRange): boolean {
  return a.earliest === b.earliest && a.latest === b.latest;
}

/** `-90m` to now, or `-90m@m` when the start snaps to its unit. */
export function lastUnits(amount: number, unit: Unit, snap: boolean): TimeRange {
  return relativeToNow(`-${Math.max(1, Math.round(amount))}${unit}${snap ? `@${unit}` : ''}`);
}

export interface RelativeParts {
  amount: number;
  unit: Unit;
  snap: boolean;
}

/** The inverse of `lastUnits`; null for every other range. */
export function relativeParts(range: TimeRange): RelativeParts | null {
  if (range.latest !== 'now') return null;
  const match = /^-(\d+)(s|m|h|d|w|mon|y)(?:@(s|m|h|d|w|mon|y))?$/.exec(range.earliest);
  if (!match) return null;
  const unit = match[2] as Unit;
  const snap = match[3];
  if (snap !== undefined && snap !== unit) return null;
  return { amount: Number(match[1]), unit, snap: snap !== undefined };
}

/** Epoch seconds with at most milliseconds and no trailing zeros. */
export function epochText(epochSeconds: number): string {
  return String(Math.round(epochSeconds * 1000) / 1000);
}

export function absoluteRange(start: number, end: number): TimeRange {
  return { earliest: epochText(start), latest: epochText(end) };
}

/** Start and end when both bounds are epoch seconds. */
export function absoluteParts(range: TimeRange): { start: number; end: number } | null {
  if (!EPOCH.test(range.earliest) || !EPOCH.test(range.latest)) return null;
  return { start: Number(range.earliest), end: Number(range.latest) };
}

/** A range twice as long around the same middle; one that ends by now does not pass it. */
export function zoomedOut(start: number, end: number, now: number): TimeRange {
  const half = Math.max((end - start) / 2, 0.5);
  const latest = end <= now ? Math.min(end + half, Math.ceil(now)) : end + half;
  return absoluteRange(Math.max(0, start - half), latest);
}

/** The window of the same length before or after the one that was searched, if that has both ends. */
export function shifted(earliest: string, latest: string, by: 1 | -1): TimeRange | null {
  const start = Date.parse(earliest) / 1000;
  const end = Date.parse(latest) / 1000;
  if (!(end > start) || start <= 0) return null;
  const length = end - start;
  return absoluteRange(Math.max(0, start + by * length), end + by * length);
}

function boundLabel(bound: string, zone: string): string {
  if (bound === '') return 'unbounded';
  return EPOCH.test(bound) ? formatEpoch(Number(bound), zone) : bound;
}

/** What the picker's button says. */
export function rangeLabel(range: TimeRange, zone: string): string {
  const preset = PRESETS.find((candidate) => sameRange(candidate.range, range));
  if (preset) return preset.label;
  if ((range.earliest === '' || range.earliest === '0') && range.latest === '') return 'All time';
  const relative = relativeParts(range);
  if (relative) {
    const unit = UNITS.find((candidate) => candidate.unit === relative.unit);
    const name = relative.amount === 1 ? unit?.one : `${relative.amount} ${unit?.many}`;
    return `Last ${name}${relative.snap ? ', rounded down' : ''}`;
  }
  const absolute = absoluteParts(range);
  if (absolute) {
    const start = formatEpoch(absolute.start, zone);
    const end = formatEpoch(absolute.end, zone);
    const sameDay = start.slice(0, 10) === end.slice(0, 10);
    return `${start} – ${sameDay ? end.slice(11) : end}`;
  }
  return `${boundLabel(range.earliest, zone)} – ${boundLabel(range.latest, zone)}`;
}

/** Short length of a span: `250 ms`, `30 s`, `5 min`, `2 h`, `3 d`. */
export function durationLabel(seconds: number): string {
  const trim = (value: number) => String(Math.round(value * 10) / 10);
  if (seconds < 1) return `${trim(seconds * 1000)} ms`;
  if (seconds < 60) return `${trim(seconds)} s`;
  if (seconds < 3600) return `${trim(seconds / 60)} min`;
  if (seconds < 86_400) return `${trim(seconds / 3600)} h`;
  return `${trim(seconds / 86_400)} d`;
}

/**
 * Wall-clock times in a named zone, with nothing but `Intl`.
 * Guarantees `wallToEpoch(epochToWall(t, zone), zone) === t` for whole seconds outside the
 * repeated hour of a clock change, where the first of the two instants is taken.
 */

const formatters = new Map<string, Intl.DateTimeFormat>();

function formatter(zone: string): Intl.DateTimeFormat {
  let found = formatters.get(zone);
  if (!found) {
    found = new Intl.DateTimeFormat('en-GB', {
      timeZone: zone,
      year: 'numeric',
      month: '2-digit',
      day: '2-digit',
      hour: '2-digit',
      minute: '2-digit',
      second: '2-digit',
      hourCycle: 'h23',
    });
    formatters.set(zone, found);
  }
  return found;
}

export interface WallTime {
  year: number;
  month: number;
  day: number;
  hour: number;
  minute: number;
  second: number;
}

export function browserZone(): string {
  return Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';
}

export function knownZones(): string[] {
  return ['UTC', ...Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')];
}

export function isKnownZone(zone: string): boolean {
  try {
    formatter(zone);
    return true;
  } catch {
    return false;
  }
}

/** The chosen zone, else that of the account, else that of the browser. */
export const zoneOf = (chosen: string, account: string): string =>
  [chosen, account].find((zone) => zone !== '' && isKnownZone(zone)) ?? browserZone();

export function epochToWall(epochSeconds: number, zone: string): WallTime {
  const parts: Record<string, number> = {};
  for (const part of formatter(zone).formatToParts(Math.floor(epochSeconds) * 1000)) {
    if (part.type !== 'literal') parts[part.type] = Number(part.value);
  }
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = parts;
  return { year, month, day, hour, minute, second };
}

function wallAsUtc(wall: WallTime): number {
  return Date.UTC(wall.year, wall.month - 1, wall.day, wall.hour, wall.minute, wall.second) / 1000;
}

export function wallToEpoch(wall: WallTime, zone: string): number {
  const asUtc = wallAsUtc(wall);
  const offsetAt = (epoch: number) => wallAsUtc(epochToWall(epoch, zone)) - epoch;
  const before = asUtc - offsetAt(asUtc - 86_400);
  const after = asUtc - offsetAt(asUtc + 86_400);
  const isRight = (epoch: number) => wallAsUtc(epochToWall(epoch, zone)) === asUtc;
  return [Math.min(before, after), Math.max(before, after)].find(isRight) ?? before;
}

/**
 * A moment as people write or paste it: `2026-11-20 21:00:00.5` in the zone, the same with its own
 * offset, or epoch seconds. Null for anything else.
 */
export function parseMoment(text: string, zone: string): number | null {
  const trimmed = text.trim();
  if (isNoDay(trimmed)) return null;
  if (/^\d{9,}(\.\d+)?$/.test(trimmed)) return Number(trimmed);
  if (/^\d{4}-\d{2}-\d{2}[T ].*(Z|[+-]\d{2}:?\d{2})$/i.test(trimmed)) {
    return parseTime(trimmed.replace(' ', 'T'));
  }
  const wall = inputToWall(/^\d{4}-\d{2}-\d{2}$/.test(trimmed) ? `${trimmed}T00:00` : trimmed);
  if (!wall) return null;
  return wallToEpoch(wall, zone) + Number(`0.${/\.(\d+)$/.exec(trimmed)?.[1] ?? '0'}`);
}

/** Whether a text begins with a date that no calendar has, such as February 30; `Date` takes it for March 2. */
function isNoDay(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d{2})-(\d{2})/.exec(text) ?? [];
  if (day === undefined) return false;
  const date = new Date(Date.UTC(Number(year), Number(month) - 1, Number(day)));
  return date.getUTCDate() !== Number(day) || date.getUTCMonth() !== Number(month) - 1;
}

/** Why a text is not a moment, in the words of the server; null if it is one. */
export function momentProblem(text: string, zone: string): string | null {
  if (parseMoment(text, zone) !== null) return null;
  const isWritten = /^\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}|$)/.test(text.trim());
  return isWritten
    ? `${text.trim()} is not a time that exists`
    : 'Write times as 2026-11-20 21:00:00';
}

const pad = (value: number, width = 2) => String(value).padStart(width, '0');

/** `2026-11-20T21:00:00`, the value of a `datetime-local` input. */
export function wallToInput(wall: WallTime): string {
  return `${pad(wall.year, 4)}-${pad(wall.month)}-${pad(wall.day)}T${pad(wall.hour)}:${pad(wall.minute)}:${pad(wall.second)}`;
}

export function inputToWall(text: string): WallTime | null {
  const match = /^(\d{4})-(\d{2})-(\d{2})[T ](\d{2}):(\d{2})(?::(\d{2}))?(?:\.\d+)?$/.exec(
    text.trim(),
  );
  if (!match) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match
    .slice(1)
    .map((part) => Number(part ?? 0));
  if (isNoDay(text.trim()) || hour > 23 || minute > 59 || second > 59) return null;
  return { year, month, day, hour, minute, second };
}

/** `2026-11-20 21:00:00`. */
export function formatEpoch(epochSeconds: number, zone: string): string {
  return wallToInput(epochToWall(epochSeconds, zone)).replace('T', ' ');
}

/** `21:00:00`, of milliseconds since the epoch, as the clock of the page has them. */
export const clockTime = (milliseconds: number, zone: string): string =>
  formatEpoch(milliseconds / 1_000, zone).slice(11);

/** As `formatEpoch`, with milliseconds where there are any; `parseMoment` reads it. */
export function formatMoment(epochSeconds: number, zone: string): string {
  const milliseconds = Math.round(epochSeconds * 1000);
  const fraction = milliseconds % 1000;
  const whole = formatEpoch(Math.floor(milliseconds / 1000), zone);
  return fraction === 0 ? whole : `${whole}.${pad(fraction, 3)}`;
}

/**
 * An event's time for the eye: `2026-11-20 21:00:00.123`. Takes ISO 8601; another
 * text is returned as it is. Digits below a millisecond are kept.
 */
export function formatEventTime(text: string, zone: string): string {
  const epoch = isoTime(text);
  if (epoch === null) return text;
  const fraction = /[.,](\d+)/.exec(text)?.[1] ?? '';
  const digits = fraction.length > 3 ? fraction.replace(/0+$/, '').padEnd(3, '0') : fraction;
  return formatEpoch(epoch, zone) + (digits === '' ? '' : `.${digits.padEnd(3, '0')}`);
}

/** Epoch seconds of ISO 8601 text or epoch text; null if it is neither. */
export function parseTime(text: string): number | null {
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : isoTime(text);
}

/**
 * Epoch seconds of ISO 8601 text, as the server writes the times of a result; null for anything else. `eval` can make
 * `_time` a text such as `01`, which is no epoch.
 */
export function isoTime(text: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}T/.test(text)) return null;
  const milliseconds = Date.parse(text);
  return Number.isNaN(milliseconds) ? null : milliseconds / 1000;
}

/**
 * The ticks of a time axis, in wall time as if it were UTC. Steps below a day divide the day, so that each midnight
 * within the axis is a tick, with the date as its label: hours alone do not tell which day they are of.
 */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** 1970 began on a Thursday. */
const MONDAY = 4 * DAY;

const STEPS = [
  ...[1, 2, 5, 10, 15, 30].map((count) => count * SECOND),
  ...[1, 2, 5, 10, 15, 30].map((count) => count * MINUTE),
  ...[1, 2, 3, 6, 12].map((count) => count * HOUR),
  ...[1, 2, 7, 14].map((count) => count * DAY),
];
/** Above two weeks. */
const MONTHS = [1, 3, 6, 12, 24, 60, 120, 600, 1200];

export interface TimeTicks {
  values: number[];
  text: (value: number) => string;
}

/** About so many ticks from one moment to another; null for less than two seconds, or if no tick is between them. */
export function timeTicks(from: number, to: number, most: number): TimeTicks | null {
  if (!(to - from >= 2 * SECOND)) return null;
  const ticks = ticksWithin(from, to, Math.max(1, most));
  return ticks.values.length > 0 ? ticks : null;
}

function ticksWithin(from: number, to: number, count: number): TimeTicks {
  const step = STEPS.find((one) => (to - from) / one <= count);
  if (step !== undefined) return evenTicks(from, to, step);
  const months = MONTHS.find((one) => (to - from) / (one * 30.4 * DAY) <= count) ?? 1200;
  return monthTicks(from, to, months);
}

function evenTicks(from: number, to: number, step: number): TimeTicks {
  const origin = step >= 7 * DAY ? MONDAY : 0;
  const values: number[] = [];
  let at = origin + Math.ceil((from - origin) / step) * step;
  for (; at <= to; at += step) values.push(at);
  const end = step < MINUTE ? 19 : 16;
  return {
    values,
    text: (value) => {
      const iso = new Date(value).toISOString();
      return value % DAY === 0 ? iso.slice(5, 10) : iso.slice(11, end);
    },
  };
}

function monthTicks(from: number, to: number, months: number): TimeTicks {
  const begin = new Date(from);
  const values: number[] = [];
  const first = Math.floor((begin.getUTCFullYear() * 12 + begin.getUTCMonth()) / months) * months;
  for (let month = first; ; month += months) {
    const at = Date.UTC(Math.floor(month / 12), month % 12);
    if (!(at <= to)) break;
    if (at >= from) values.push(at);
  }
  return { values, text: (value) => new Date(value).toISOString().slice(0, 7) };
}

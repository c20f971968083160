import { expect, it } from 'vitest';
import {
  brushedRange,
  columnsOf,
  position,
  scaleTop,
  tickLabel,
  ticks,
  timelineSpan,
} from './timelineModel';

const buckets = [
  { start: 1000, duration: 60, count: 1 },
  { start: 1060, duration: 60, count: 0 },
  { start: 1120, duration: 60, count: 4 },
];

it('spans the buckets and the searched range around them', () =>
  expect(timelineSpan(buckets, '900', '1200')).toEqual({ start: 900, end: 1200 }));

it('does not span all of time', () =>
  expect(timelineSpan([{ start: 1e9, duration: 60, count: 1 }], '0', '')).toEqual({
    start: 1e9,
    end: 1e9 + 60,
  }));

it('places moments and clamps those outside', () => {
  const span = { start: 1000, end: 1180 };
  expect([position(span, 1090), position(span, 0), position(span, 5000)]).toEqual([0.5, 0, 1]);
});

it('brushes whole buckets in either direction', () => {
  const span = { start: 1000, end: 1180 };
  expect(brushedRange(buckets, span, 0.9, 0.5)).toEqual({ start: 1060, end: 1180 });
  expect(brushedRange(buckets, span, 0.1, 0.1)).toEqual({ start: 1000, end: 1060 });
});

it('a brush beside the buckets is nothing', () =>
  expect(brushedRange(buckets, { start: 0, end: 2000 }, 0, 0.1)).toBeNull());

it('ticks are round in the zone and no more than asked for', () => {
  const found = ticks({ start: 10, end: 7200 }, 8, 1800);
  expect(found).toEqual([900, 1800, 2700, 3600, 4500, 5400, 6300].filter((t) => t % 900 === 0));
  expect(ticks({ start: 0, end: 1e12 }, 8, 0).length).toBeLessThanOrEqual(9);
});

it('labels ticks as finely as the span needs', () => {
  const wall = '2026-11-20 21:15:30';
  expect([60, 3600, 200_000, 864_000, 1e8].map((span) => tickLabel(wall, span))).toEqual([
    '21:15:30',
    '21:15',
    '11-20 21:15',
    '11-20',
    '2026-11',
  ]);
});

it('the scale ends at a round number', () =>
  expect([0, 3, 7, 11, 99, 1234].map(scaleTop)).toEqual([1, 3, 8, 15, 100, 1500]));

it('columns far below a pixel are merged to round lengths, and keep their events', () => {
  const day = { start: 0, end: 86_400 };
  const narrow = Array.from({ length: 600 }, (_, at) => ({
    start: 80_050 + 10 * at,
    duration: 10,
    count: 1,
  }));
  const columns = columnsOf(narrow, day, 0);
  expect(columns.slice(0, 2)).toEqual([
    { start: 80_050, duration: 50, count: 5 },
    { start: 80_100, duration: 300, count: 30 },
  ]);
  expect(columns.at(-1)).toEqual({ start: 85_800, duration: 250, count: 25 });
  expect(columns.reduce((sum, { count }) => sum + count, 0)).toBe(600);
  const half = columnsOf(narrow, { start: 0, end: 20 * 86_400 }, 5.5 * 3_600);
  // Two hours of the zone: 04:00 there.
  expect(half[1]?.start).toBe(86_400 + 4 * 3_600 - 5.5 * 3_600);
});

it('columns that are seen, and months, stay as they are', () => {
  expect(columnsOf(buckets, { start: 0, end: 20_000 }, 0)).toBe(buckets);
  const months = [31, 28].map((days, at) => ({ start: at, duration: days * 86_400, count: 1 }));
  expect(columnsOf(months, { start: 0, end: 1e12 }, 0)).toBe(months);
  expect(columnsOf([], { start: 0, end: 1 }, 0)).toEqual([]);
});

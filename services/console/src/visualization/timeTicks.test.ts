import { expect, it } from 'vitest';
import { timeTicks } from './timeTicks';

const texts = (from: string, to: string, most: number) => {
  const found = timeTicks(Date.parse(from), Date.parse(to), most);
  return found?.values.map(found.text);
};

it.each([
  ['2026-11-26T06:00Z', '2026-11-28T06:00Z', 5, ['12:00', '11-27', '12:00', '11-28']],
  ['2026-11-27T22:00Z', '2026-11-28T02:00Z', 4, ['22:00', '23:00', '11-28', '01:00', '02:00']],
  ['2026-11-28T01:00:00Z', '2026-11-28T01:00:10Z', 2, ['01:00:00', '01:00:05', '01:00:10']],
  ['2026-11-01T00:00Z', '2026-11-20T00:00Z', 3, ['11-02', '11-09', '11-16']],
  ['2025-12-10T00:00Z', '2026-03-10T00:00Z', 4, ['2026-01', '2026-02', '2026-03']],
  ['2020-02-01T00:00Z', '2026-03-10T00:00Z', 4, ['2022-01', '2024-01', '2026-01']],
])('from %s to %s, about %d labels: %j', (from, to, most, expected) =>
  expect(texts(from, to, most)).toEqual(expected),
);

it('a moment has no ticks, nor has a span between two of them', () => {
  expect(timeTicks(5, 5, 3)).toBeNull();
  expect(timeTicks(1_000, 59_000, 1)).toBeNull();
});

import { expect, it } from 'vitest';
import { placeOf, surroundingOf } from './surrounding';

const event = (time: string, raw: string) => ({
  _time: time,
  _raw: raw,
  index: 'main',
  host: 'web "1"',
  source: '/var/log/x',
});

it('looks at the same host, source and index around the time', () => {
  expect(surroundingOf(event('2026-11-26T10:00:00.250+00:00', 'a'), 5)).toEqual({
    search: 'index="main" host="web \\"1\\"" source="/var/log/x"',
    earliest: '1795687195.25',
    latest: '1795687205.251',
  });
});

it('leaves out what a search cannot name exactly, and needs a time', () => {
  const found = surroundingOf({ ...event('2026-11-26T10:00:00.000+00:00', 'a'), source: 'a*b' }, 5);
  expect(found?.search).toBe('index="main" host="web \\"1\\""');
  expect(surroundingOf({ _raw: 'x' }, 5)).toBeNull();
  expect(surroundingOf(event('01', 'a'), 5)).toBeNull();
});

it('finds the event among those around it', () => {
  const [a, b] = [event('1', 'a'), event('1', 'b')];
  expect(placeOf(b, [a, b])).toBe(1);
  expect(placeOf(event('2', 'a'), [a, b])).toBe(-1);
});

it('finds the event by its moment, whatever the zone of its text', () => {
  const here = event('2026-11-29T23:40:40.000+01:00', 'a');
  const there = event('2026-11-29T22:40:40.000+00:00', 'a');
  expect(placeOf(here, [event('2026-11-29T23:40:40.000+00:00', 'a'), there])).toBe(1);
});

import { expect, it } from 'vitest';
import { isOpenEvent, openEventOf, readOpenEvent, writeOpenEvent } from './openEvent';

const EVENT = { _time: '2026-11-29T23:40:40.250+01:00', _raw: 'a' };

it('the address of an event has its place and its time, whatever the zone', () => {
  const open = openEventOf(EVENT, 12);
  expect(writeOpenEvent(open)).toBe('12_1795992040.25');
  expect(readOpenEvent('12_1795992040.25')).toEqual(open);
  const inUtc = { ...EVENT, _time: '2026-11-29T22:40:40.250+00:00' };
  expect(isOpenEvent(inUtc, 12, open)).toBe(true);
});

it('another event at the same place is not the one of the address', () => {
  const other = { ...EVENT, _time: '2026-11-29T23:40:41.000+01:00' };
  expect(isOpenEvent(other, 12, openEventOf(EVENT, 12))).toBe(false);
});

it('an event without a time has its place only, and other texts are no event', () => {
  expect(writeOpenEvent(openEventOf({ _raw: 'a' }, 3))).toBe('3');
  expect(readOpenEvent('3')).toEqual({ place: 3, time: null });
  expect(['', 'x', '-1', '1_', '1_x', null].map(readOpenEvent)).toEqual(Array(6).fill(null));
});

import { describe, expect, it } from 'vitest';
import {
  absoluteParts,
  absoluteRange,
  DEFAULT_RANGE,
  durationLabel,
  isTimeModifier,
  lastUnits,
  PRESETS,
  rangeLabel,
  relativeParts,
  shifted,
  withoutRealTime,
  zoomedOut,
} from './timeRange';

describe('time modifiers', () => {
  it.each([
    '',
    'now',
    '-15m',
    '-1d@d',
    '@d',
    '@w1',
    '+2h',
    '-mon@mon',
    '-1d@d+3h',
    '0',
    '1763672400.5',
    'now-1h',
    'now()@d',
    '11/20/2026:21:00:00',
    '11/20/2026',
    '2026-11-20 21:00',
  ])('accepts %j', (text) => expect(isTimeModifier(text)).toBe(true));
  it.each(['yesterday', '-15x', '15m', '@', 'now-', '<script>', '-1d@d@d'])('refuses %j', (text) =>
    expect(isTimeModifier(text)).toBe(false),
  );
  it.each([
    ['rt-5m', 'earliest', '-5m'],
    ['rt@d', 'earliest', '@d'],
    ['rt', 'earliest', '0'],
    ['rt', 'latest', 'now'],
    ['rtnow', 'latest', 'now'],
    ['-5m', 'earliest', null],
  ] as const)('%s as %s is %j without real time', (text, name, bound) =>
    expect(withoutRealTime(text, name)).toBe(bound),
  );
  it('accepts ISO 8601', () => expect(isTimeModifier('2026-11-20T21:00:00.5+01:00')).toBe(true));
  it('accepts the bounds of every preset', () => {
    for (const { range } of PRESETS) {
      expect(isTimeModifier(range.earliest) && isTimeModifier(range.latest)).toBe(true);
    }
  });
});

describe('relative ranges', () => {
  it('are written as modifiers', () => {
    expect(lastUnits(90, 'm', false)).toEqual({ earliest: '-90m', latest: 'now' });
    expect(lastUnits(2, 'mon', true)).toEqual({ earliest: '-2mon@mon', latest: 'now' });
  });
  it('never ask for less than one unit', () =>
    expect(lastUnits(0, 'h', false).earliest).toBe('-1h'));
  it('are read back', () =>
    expect(relativeParts(lastUnits(3, 'w', true))).toEqual({ amount: 3, unit: 'w', snap: true }));
  it('leave other ranges alone', () =>
    expect(relativeParts({ earliest: '-1d@h', latest: 'now' })).toBeNull());
});

describe('absolute ranges', () => {
  it('keep milliseconds', () =>
    expect(absoluteRange(1763672400.1234, 1763672401)).toEqual({
      earliest: '1763672400.123',
      latest: '1763672401',
    }));
  it('are read back', () =>
    expect(absoluteParts(absoluteRange(10, 20))).toEqual({ start: 10, end: 20 }));
  it('double around their middle when zooming out', () =>
    expect(zoomedOut(100, 200, 1000)).toEqual({ earliest: '50', latest: '250' }));
  it('zoom out to now, and beyond it only when they were there', () => {
    expect(zoomedOut(100, 200, 210).latest).toBe('210');
    expect(zoomedOut(100, 200, 150).latest).toBe('250');
  });
  it('do not zoom out before the epoch', () => expect(zoomedOut(1, 21, 1000).earliest).toBe('0'));
});

describe('labels', () => {
  it('name the presets', () => expect(rangeLabel(DEFAULT_RANGE, 'UTC')).toBe('Last 24 hours'));
  it('spell out relative ranges', () =>
    expect(rangeLabel(lastUnits(90, 'm', false), 'UTC')).toBe('Last 90 minutes'));
  it('shorten the end on the same day', () =>
    expect(rangeLabel(absoluteRange(1763672400, 1763673300), 'UTC')).toBe(
      '2025-11-20 21:00:00 – 21:15:00',
    ));
  it('show absolute times in the chosen zone', () =>
    expect(rangeLabel(absoluteRange(1763672400, 1763673300), 'Asia/Tokyo')).toBe(
      '2025-11-21 06:00:00 – 06:15:00',
    ));
  it('name both bounds of anything else', () =>
    expect(rangeLabel({ earliest: '-2d@d', latest: '-1d@d' }, 'UTC')).toBe('-2d@d – -1d@d'));
  it('give spans a fitting unit', () =>
    expect([0.25, 30, 300, 7200, 259_200].map(durationLabel)).toEqual([
      '250 ms',
      '30 s',
      '5 min',
      '2 h',
      '3 d',
    ]));
});

describe('the window before and after', () => {
  const hour = ['2026-11-26T10:00:00.000+00:00', '2026-11-26T11:00:00.000+00:00'] as const;
  it('has the same length', () => {
    const before = shifted(...hour, -1);
    expect(before).toEqual(
      absoluteRange(Date.parse(hour[0]) / 1000 - 3600, Date.parse(hour[0]) / 1000),
    );
    expect(shifted(...hour, 1)?.earliest).toBe(String(Date.parse(hour[1]) / 1000));
  });
  it('is not there for a range without ends', () => {
    expect(shifted('', hour[1], 1)).toBeNull();
    expect(shifted('1970-01-01T00:00:00.000+00:00', hour[1], -1)).toBeNull();
  });
});

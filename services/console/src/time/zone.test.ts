import { expect, it } from 'vitest';
import {
  browserZone,
  clockTime,
  epochToWall,
  formatEventTime,
  inputToWall,
  isKnownZone,
  momentProblem,
  parseMoment,
  parseTime,
  wallToEpoch,
  wallToInput,
  zoneOf,
} from './zone';

it.each(['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata'])(
  'wall time in %s leads back to the same instant',
  (zone) => {
    for (let epoch = 1_740_000_000; epoch < 1_772_000_000; epoch += 1_234_567) {
      expect(wallToEpoch(epochToWall(epoch, zone), zone)).toBe(epoch);
    }
  },
);

it('a wall time in the repeated hour means the first of the two', () => {
  const wall = { year: 2025, month: 10, day: 26, hour: 2, minute: 30, second: 0 };
  expect(wallToEpoch(wall, 'Europe/Berlin')).toBe(Date.UTC(2025, 9, 26, 0, 30) / 1000);
});

it('input text survives the round trip with its seconds', () =>
  expect(wallToInput(inputToWall('2026-11-20T21:00:07') ?? epochToWall(0, 'UTC'))).toBe(
    '2026-11-20T21:00:07',
  ));

it.each(['', 'soon', '2026-13-01T00:00', '2026-02-30T00:00', '2026-01-01T24:00'])(
  'refuses %j as input',
  (text) => expect(inputToWall(text)).toBeNull(),
);

it('shows event times in the zone and keeps their fraction', () => {
  expect(formatEventTime('2026-11-20T21:00:00.123+00:00', 'UTC')).toBe('2026-11-20 21:00:00.123');
  expect(formatEventTime('2026-11-20T21:00:00.000123+00:00', 'Asia/Tokyo')).toBe(
    '2026-11-21 06:00:00.000123',
  );
});

it.each([
  ['2025-11-20 21:00:00', 1763668800],
  ['2025-11-20T21:00:00.5', 1763668800.5],
  ['2025-11-20', 1763593200],
  ['2025-11-20T21:00:00.500Z', 1763672400.5],
  ['2025-11-20 21:00:00+02:00', 1763665200],
  ['1763672400.25', 1763672400.25],
  ['yesterday', null],
  ['2025-13-01 00:00', null],
  ['2025-02-29', null],
  ['2025-11-31 12:00:00', null],
  ['2025-02-30T00:00:00Z', null],
  ['2024-02-29', 1709161200],
])('reads the moment %j', (text, epoch) => expect(parseMoment(text, 'Europe/Berlin')).toBe(epoch));

it.each([
  ['2026-02-28', null],
  ['2026-02-30', '2026-02-30 is not a time that exists'],
  ['2026-11-20 25:61:00', '2026-11-20 25:61:00 is not a time that exists'],
  ['soon', 'Write times as 2026-11-20 21:00:00'],
])('says of %j why it is not a moment', (text, problem) =>
  expect(momentProblem(text, 'Europe/Berlin')).toBe(problem),
);

it('leaves text that is no time as it is', () =>
  expect(['a while ago', '01', '13.00'].map((text) => formatEventTime(text, 'UTC'))).toEqual([
    'a while ago',
    '01',
    '13.00',
  ]));

it('reads epochs and ISO 8601', () => {
  expect(parseTime('1763672400.5')).toBe(1763672400.5);
  expect(parseTime('2025-11-20T21:00:00.500+00:00')).toBe(1763672400.5);
  expect(parseTime('main')).toBeNull();
});

it('knows zones from nonsense', () =>
  expect([isKnownZone('UTC'), isKnownZone('Europe/Berlin'), isKnownZone('Mars/Olympus')]).toEqual([
    true,
    true,
    false,
  ]));

it('the zone is the chosen one, else that of the account, else that of the browser', () => {
  expect(zoneOf('Asia/Kolkata', 'America/New_York')).toBe('Asia/Kolkata');
  expect(zoneOf('', 'America/New_York')).toBe('America/New_York');
  expect(zoneOf('Mars/Olympus', 'America/New_York')).toBe('America/New_York');
  expect(zoneOf('', '')).toBe(browserZone());
  expect(zoneOf('', 'Mars/Olympus')).toBe(browserZone());
});

it('a time of the clock is that of the chosen zone, not of the browser', () => {
  const at = Date.UTC(2026, 10, 29, 22, 40, 40);
  expect(['UTC', 'Asia/Kolkata'].map((zone) => clockTime(at, zone))).toEqual([
    '22:40:40',
    '04:10:40',
  ]);
});

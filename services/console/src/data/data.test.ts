import { expect, it } from 'vitest';
import { decodeEntries } from '../api/decode';
import { fieldsFor, initialValues, problemsOf } from '../objects/form';
import { indexes, keptFor, largest, lossOfIndex } from './indexKind';
import { inputs, kindOf, sourcesOf } from './inputKinds';
import { readLoadReport, shownValue, sizeOf } from './loadReport';

const entry = (content: Record<string, unknown>, id = '/services/data/indexes/web') =>
  decodeEntries({ entry: [{ name: 'web', id, content }] })[0] as ReturnType<
    typeof decodeEntries
  >[number];

it('the removal of an index says how many events of which time are lost', () => {
  const loss = lossOfIndex(
    entry({
      totalEventCount: 12_345,
      totalRawBytes: 2_097_152,
      minTime: '2026-01-01T00:00:00+0000',
      maxTime: '2026-02-01T10:30:00+0000',
    }),
  );
  expect(loss).toContain(
    '12,345 events from 2026-01-01 00:00 to 2026-02-01 10:30 (2.0 MB of text)',
  );
  expect(lossOfIndex(entry({ totalEventCount: 0 }))).toContain('has no events');
});

it('a count that lacks the events of a process that does not answer is a minimum', () => {
  const shown = (content: Record<string, unknown>) =>
    indexes.columns.find((column) => column.label === 'Events')?.text(entry(content));
  expect(shown({ totalEventCount: 60_000, isCountComplete: true })).toBe('60,000');
  expect(shown({ totalEventCount: 60_000, isCountComplete: false })).toBe('at least 60,000');
  expect(shown({ totalEventCount: null, isCountComplete: false })).toBe('');
});

it('a retention is said in a unit that fits', () => {
  expect(keptFor(188_697_600)).toBe('6 years');
  expect(keptFor(2_592_000)).toBe('30 days');
  expect(keptFor(43_200)).toBe('12 hours');
});

it('what is larger than any server has is unlimited, and 0 is no limit of a size', () => {
  expect(keptFor(99_999_999_999 * 86_400)).toBe('unlimited');
  expect(keptFor(2_147_483_647)).toBe('unlimited');
  expect(keptFor(60 * 365 * 86_400)).toBe('60 years');
  expect([largest(0), largest(1e14), largest(500_000)]).toEqual([
    'unlimited',
    'unlimited',
    '488.3 GB',
  ]);
});

it('an index has neither the name of an internal one nor a retention of 0', () => {
  const check = (name: string, text: string) =>
    indexes.fields.find((field) => field.name === name)?.check?.(text, {}) ?? null;
  expect(check('name', '_mine')).toContain('internal');
  expect(check('name', 'a_b-1')).toBeNull();
  expect(check('frozenTimePeriodInSecs', '0')).toContain('deleted');
  expect(check('frozenTimePeriodInSecs', '0.5')).toBeNull();
});

it('a retention of 0 that is set elsewhere does not hold back another maximum size', () => {
  const fields = fieldsFor(indexes.fields, false);
  const before = initialValues(fields, entry({ frozenTimePeriodInSecs: 0 }));
  const larger = { ...before, maxTotalDataSizeMB: '100' };
  expect(problemsOf(fields, larger, before).size).toBe(0);
  const zero = { ...larger, frozenTimePeriodInSecs: '0' };
  expect([...problemsOf(fields, zero, { ...before, frozenTimePeriodInSecs: '7' }).keys()]).toEqual([
    'frozenTimePeriodInSecs',
  ]);
});

it('the kind of an input is in its path', () => {
  expect(kindOf(entry({}, '/services/data/inputs/tcp/raw/514'))).toBe('tcp/raw');
  expect(kindOf(entry({}, '/services/data/inputs/monitor/%2Fvar%2Flog'))).toBe('monitor');
});

it('the report of a load is in words', () => {
  const body = {
    sourcetype: 'csv',
    events: 2,
    earliest: 1714557600000000,
    latest: 1714644000000000,
    undated: 1,
    truncated: 0,
    split: 0,
    headers: 1,
  };
  const report = readLoadReport(body, 'UTC');
  expect(report.span).toBe('2024-05-01 10:00:00 to 2024-05-02 10:00:00 (UTC)');
  expect(readLoadReport(body, 'Europe/Berlin').span).toBe(
    '2024-05-01 12:00:00 to 2024-05-02 12:00:00 (Europe/Berlin)',
  );
  expect(report.notes).toHaveLength(2);
  expect(report.notes[0]).toContain('1 event without a time');
});

it('times of loaded events are shown as those of the preview', () => {
  const shown = (text: string, zone: string) => shownValue('_time', text, zone);
  expect(shown('2026-11-28T19:30:50.357+00:00', 'UTC')).toBe('2026-11-28 19:30:50.357');
  expect(shown('2026-11-28T19:30:50.000+00:00', 'Europe/Berlin')).toBe('2026-11-28 20:30:50');
  expect(shownValue('_raw', '2026-11-28T19:30:50.357+00:00', 'UTC')).toContain('T19');
});

it('a text says how long it is', () => {
  expect(sizeOf('a\nb\nc\n')).toBe('3 lines, 6 characters');
  expect(sizeOf('a')).toBe('1 line, 1 character');
});

it('a new input of a path asks whether the path exists, and leads to waiting for its first event', () => {
  const values = { kind: 'monitor', name: '/var/log/a b', index: 'web', 'check-path': '1' };
  expect(inputs.request?.(values, null, '')).toEqual({
    path: '/services/data/inputs/monitor',
    form: { name: '/var/log/a b', index: 'web', 'check-path': '1' },
  });
  const pattern = { kind: 'monitor', name: '/var/log/*.log', 'check-path': '1' };
  expect(inputs.request?.(pattern, null, '')?.form).toEqual({ name: '/var/log/*.log' });
  expect(inputs.after?.(values)).toBe(
    '/data/add/input?kind=monitor&name=%2Fvar%2Flog%2Fa+b&index=web',
  );
});

it('the events of a monitored path are those of its files', () => {
  expect(sourcesOf('monitor', '/var/log/')).toEqual(['/var/log/', '/var/log/*']);
  expect(sourcesOf('batch', '/in/.../x.log')).toEqual(['/in/*/x.log']);
  expect(sourcesOf('tcp/raw', '514')).toEqual([]);
});

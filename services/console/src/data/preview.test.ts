import { expect, it } from 'vitest';
import {
  decodePreview,
  isDated,
  isEmptyPreview,
  isOdd,
  mistakeIn,
  overruled,
  remarks,
  settingsToSave,
  shortPlace,
  stanzaText,
  timeOrigin,
  untroubled,
  whyItBegins,
} from './preview';

const bytes = (text: string) => new TextEncoder().encode(text);

const event = (more: Record<string, unknown>) => ({
  span: [0, 0],
  line: 1,
  began: { by: 'line', setting: 'LINE_BREAKER' },
  time: 1,
  timestamp: { from: 'arrival', span: null, text: null, field: null },
  kept: [{ raw: '', fields: {}, extracted: {} }],
  warnings: [],
  ...more,
});

const setting = (name: string, value: string, stanza: string | null, place: string | null) => ({
  name,
  value,
  default: '',
  stanza,
  place,
  used: 'arrival',
  description: '',
});

it('the place of a timestamp counts characters, also behind letters of several bytes', () => {
  const text = 'größe 😀 2026-11-20 10:00:00 x';
  const before = bytes('größe 😀 ').length;
  const stamp = '2026-11-20 10:00:00';
  const timestamp = { from: 'text', span: [before, before + stamp.length], text: stamp };
  const span = [0, bytes(text).length];
  const [one] = decodePreview({ events: [event({ span, timestamp })] }, bytes(text)).events;
  expect(one?.text).toBe(text);
  expect(one?.mark && text.slice(...one.mark)).toBe(stamp);
});

it('an event of another character set is shown as it would be kept', () => {
  const raw = 'é 10:00';
  const timestamp = { from: 'text', span: [3, 8], text: '10:00' };
  const sent = new Uint8Array([0xe9, 0x20, 0x31, 0x30, 0x3a, 0x30, 0x30]);
  const kept = [{ raw, fields: {}, extracted: {} }];
  const [one] = decodePreview({ events: [event({ span: [0, 8], timestamp, kept })] }, sent).events;
  expect(one?.text).toBe(raw);
  expect(one?.mark && raw.slice(...one.mark)).toBe('10:00');
});

it('an event that a rule drops is shown as it is in the text', () => {
  const body = { events: [event({ span: [0, 5], kept: [] })] };
  const [one] = decodePreview(body, bytes('debug x')).events;
  expect(one?.text).toBe('debug');
  expect(one?.kept).toEqual([]);
});

it('fields with several values are one line', () => {
  const kept = [{ raw: 'x', fields: { a: '1' }, extracted: { b: ['1', '2'] } }];
  const [one] = decodePreview({ events: [event({ kept })] }, bytes('x')).events;
  expect(one?.kept[0]?.indexed).toEqual([['a', '1']]);
  expect(one?.kept[0]?.extracted).toEqual([['b', '1, 2']]);
});

it('a text says where it comes from', () => {
  const timestamp = { from: 'field', span: null, text: null, field: 'ts' };
  const { events, recognisedBy } = decodePreview(
    {
      events: [event({ timestamp }), event({})],
      recognised: { by: 'stanza', stanza: 'source::*.log', place: 'system/local/props.conf:4' },
    },
    bytes(''),
  );
  expect(recognisedBy).toBe('by [source::*.log] in system/local/props.conf:4');
  expect(events.map(timeOrigin)).toEqual(['field ts', 'time of arrival']);
  expect(events.map(isDated)).toEqual([true, false]);
  expect(events.map(whyItBegins)[0]).toBe('A line ends before it (LINE_BREAKER)');
});

it('a refusal is shown at the setting that it is about', () => {
  const names = ['TIME_FORMAT', 'LINE_BREAKER', 'MAX_EVENTS'];
  expect(mistakeIn('LINE_BREAKER: bad regular expression: missing )', names)).toEqual({
    name: 'LINE_BREAKER',
    problem: 'bad regular expression: missing )',
  });
  expect(mistakeIn('MAX_EVENTS = x: expected a whole number, 0 or more', names)).toEqual({
    name: 'MAX_EVENTS',
    problem: 'expected a whole number, 0 or more',
  });
  expect(mistakeIn('there is no index "x"', names)).toBeNull();
});

it('a source type is saved with its own settings and those that are tried', () => {
  const settings = [
    setting('TIME_FORMAT', '%s', 'shop', 'system/local/props.conf:2'),
    setting('TZ', 'UTC', 'source::*.log', 'system/local/props.conf:9'),
    setting('MAX_EVENTS', '256', 'default', 'system/default/props.conf:7'),
    setting('LINE_BREAKER', '(;)', null, 'the request'),
    setting('TIME_PREFIX', '', null, 'the request'),
  ];
  const preview = decodePreview({ settings }, bytes(''));
  const saved = settingsToSave(preview);
  expect(stanzaText('shop', saved)).toBe('[shop]\nTIME_FORMAT = %s\nLINE_BREAKER = (;)\n');
  expect(overruled(preview, [['TZ', 'Europe/Berlin']]).map((one) => one.name)).toEqual(['TZ']);
  expect(overruled(preview, saved)).toEqual([]);
});

it('a value of several lines stays one value', () => {
  expect(stanzaText('a', [['B', 'x\ny']])).toBe('[a]\nB = x\\\ny\n');
});

it('the directory of an installed app is left out of a place', () => {
  const place = '/data/installed/d88a7eee1b96a50039941defe2b8b231c2ff/apps/x/default/props.conf:2';
  expect(shortPlace(place)).toBe('apps/x/default/props.conf:2');
  expect(shortPlace('system/default/props.conf:7')).toBe('system/default/props.conf:7');
});

it('totals say what is notable', () => {
  const { totals } = decodePreview({ totals: { events: 3, undated: 1, split: 2 } }, bytes(''));
  expect(remarks(totals)).toEqual(['1 event without a timestamp', '2 events split (MAX_EVENTS)']);
  expect(isOdd(totals)).toBe(true);
  expect(isOdd({ ...totals, undated: 0, split: 0, headers: 1 })).toBe(false);
});

it('a text without events is said to have none, and is not loaded', () => {
  const empty = decodePreview({ totals: { events: 0 } }, bytes(''));
  expect(untroubled(empty.totals)).toBe('The text has no events.');
  expect(isEmptyPreview(empty, false)).toBe(true);
  // The preview of the text before.
  expect(isEmptyPreview(empty, true)).toBe(false);
  expect(isEmptyPreview(decodePreview({ totals: { events: 1 } }, bytes('a')), false)).toBe(false);
});

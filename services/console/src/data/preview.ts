/**
 * The answer of `POST /api/v1/preview`: the events that a text would become, and the settings in force.
 * Guarantees that a highlighted timestamp is the text that the server has found, whatever rules changed the event.
 */

import { asObject } from '../api/decode';
import { plural } from '../app/format';

export interface PreviewEvent {
  /** Where it begins in the text, in bytes: no two events begin at the same place. */
  at: number;
  /** Line of the text, from 1. */
  line: number;
  /** The event as it is in the text, or as it would be kept where the text cannot be cut here. */
  text: string;
  /** Where the timestamp stands in `text`; null where the time comes from elsewhere. */
  mark: [number, number] | null;
  time: number;
  /** `text`, or what stands for a time in the text. */
  timeFrom: string;
  timeField: string | null;
  began: string;
  beganSetting: string | null;
  warnings: string[];
  /** None if a rule drops the event, several if a rule clones it. */
  kept: KeptEvent[];
}

export interface KeptEvent {
  raw: string;
  index: string;
  host: string;
  source: string;
  sourcetype: string;
  indexed: FieldPair[];
  extracted: FieldPair[];
}

export type FieldPair = [name: string, value: string];

export interface PropsSetting {
  name: string;
  value: string;
  initial: string;
  /** Null for a default, and for a setting that is tried. */
  stanza: string | null;
  /** File and line; null for a default. */
  place: string | null;
  isTried: boolean;
  /** Whether searches use it; others are used when an event is received. */
  isOfSearch: boolean;
  about: string;
}

export interface PreviewTotals {
  events: number;
  kept: number;
  shown: number;
  skipped: number;
  undated: number;
  truncated: number;
  split: number;
  headers: number;
  /** Seconds; null if no event has a time in its text. */
  earliest: number | null;
  latest: number | null;
}

export interface Preview {
  sourcetype: string;
  /** Empty if the request named the source type. */
  recognisedBy: string;
  charset: string;
  isComplete: boolean;
  events: PreviewEvent[];
  totals: PreviewTotals;
  warnings: string[];
  settings: PropsSetting[];
}

/** The place that the server gives to a setting that is tried. */
const TRIED = 'the request';

const text = (value: unknown): string =>
  value === null || value === undefined ? '' : String(value);
const textOrNull = (value: unknown): string | null => (typeof value === 'string' ? value : null);
const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const count = (value: unknown): number => (typeof value === 'number' ? value : 0);
const seconds = (value: unknown): number | null => (typeof value === 'number' ? value : null);

const pairs = (value: unknown): FieldPair[] =>
  Object.entries(asObject(value)).map(([name, one]) => [
    name,
    Array.isArray(one) ? one.map(text).join(', ') : text(one),
  ]);

/** `sent`: the text of the request as UTF-8, without a byte order mark. */
export function decodePreview(body: unknown, sent: Uint8Array): Preview {
  const root = asObject(body);
  const totals = asObject(root.totals);
  const recognised = asObject(root.recognised);
  return {
    sourcetype: text(root.sourcetype),
    recognisedBy: recognisedBy(recognised),
    charset: text(root.charset),
    isComplete: root.complete !== false,
    events: list(root.events).map((event) => decodeEvent(asObject(event), sent)),
    totals: {
      events: count(totals.events),
      kept: count(totals.kept),
      shown: count(totals.shown),
      skipped: count(totals.skipped),
      undated: count(totals.undated),
      truncated: count(totals.truncated),
      split: count(totals.split),
      headers: count(totals.headers),
      earliest: seconds(totals.earliest),
      latest: seconds(totals.latest),
    },
    warnings: list(root.warnings).map(text),
    settings: list(root.settings).map((item) => {
      const setting = asObject(item);
      return {
        name: text(setting.name),
        value: text(setting.value),
        initial: text(setting.default),
        stanza: textOrNull(setting.stanza),
        place: textOrNull(setting.place),
        isTried: setting.place === TRIED,
        isOfSearch: setting.used === 'search',
        about: text(setting.description).replaceAll('`', ''),
      };
    }),
  };
}

function decodeEvent(event: Record<string, unknown>, sent: Uint8Array): PreviewEvent {
  const kept = list(event.kept).map((item) => {
    const one = asObject(item);
    return {
      raw: text(one.raw),
      index: text(one.index),
      host: text(one.host),
      source: text(one.source),
      sourcetype: text(one.sourcetype),
      indexed: pairs(one.fields),
      extracted: pairs(one.extracted),
    };
  });
  const timestamp = asObject(event.timestamp);
  const began = asObject(event.began);
  const place = spanOf(event.span);
  return {
    at: place?.[0] ?? 0,
    line: count(event.line),
    ...markedText(sent, place, spanOf(timestamp.span), text(timestamp.text), kept[0]?.raw),
    time: count(event.time),
    timeFrom: text(timestamp.from),
    timeField: textOrNull(timestamp.field),
    began: text(began.by),
    beganSetting: textOrNull(began.setting),
    warnings: list(event.warnings).map(text),
    kept,
  };
}

type Span = [number, number];

const spanOf = (value: unknown): Span | null => {
  const [from, to] = list(value);
  return typeof from === 'number' && typeof to === 'number' ? [from, to] : null;
};

const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true });

/** The text of an event and the place of its timestamp in characters; spans count bytes. */
function markedText(
  sent: Uint8Array,
  event: Span | null,
  stamp: Span | null,
  stampText: string,
  raw: string | undefined,
): { text: string; mark: Span | null } {
  const cut = (span: Span) => UTF8.decode(sent.subarray(span[0], span[1]));
  // Of a text in another character set, spans count the bytes that the server has made of it.
  const isSent = stamp === null || cut(stamp) === stampText;
  const whole = event && isSent ? cut(event) : (raw ?? '');
  if (stampText === '') return { text: whole, mark: null };
  if (event && stamp && isSent && stamp[0] >= event[0] && stamp[1] <= event[1]) {
    const from = cut([event[0], stamp[0]]).length;
    return { text: whole, mark: [from, from + stampText.length] };
  }
  const at = whole.indexOf(stampText);
  return { text: whole, mark: at < 0 ? null : [at, at + stampText.length] };
}

const RECOGNISED: Record<string, string> = {
  header: 'by its header',
  content: 'by its content',
  file_name: 'by the name of the source',
  nothing: 'named after the source',
};

function recognisedBy(recognised: Record<string, unknown>): string {
  if (recognised.by === 'stanza') {
    return `by [${text(recognised.stanza)}] in ${shortPlace(text(recognised.place))}`;
  }
  return RECOGNISED[text(recognised.by)] ?? '';
}

const BEGAN: Record<string, string> = {
  beginning: 'The text begins here',
  line: 'A line ends before it',
  pattern: 'The line matches',
  time: 'The line has a timestamp',
  end_of_event: 'The previous line matches',
  too_many_lines: 'The previous event has the maximum number of lines',
  too_large: 'The previous event has the maximum size',
};

/** Why an event begins where it does. */
export function whyItBegins({ began, beganSetting }: PreviewEvent): string {
  const why = BEGAN[began] ?? began;
  return beganSetting === null ? why : `${why} (${beganSetting})`;
}

const TIME_FROM: Record<string, string> = {
  text: 'timestamp in the text',
  field: 'field',
  TIMESTAMP_FIELDS: 'TIMESTAMP_FIELDS',
  directive: 'directive of the W3C header',
  record: 'time of the record',
  event_before: 'time of the previous event',
  file: 'modification time of the file',
  arrival: 'time of arrival',
};

export function timeOrigin({ timeFrom, timeField }: PreviewEvent): string {
  const from = TIME_FROM[timeFrom] ?? timeFrom;
  return timeField === null ? from : `${from} ${timeField}`;
}

/** Whether the time of an event is in its text. */
export const isDated = ({ timeFrom }: PreviewEvent): boolean =>
  !['event_before', 'file', 'arrival'].includes(timeFrom);

/** An installed app has a directory named by a checksum, which says nothing to a reader. */
export const shortPlace = (place: string): string =>
  place.replace(/^.*\/installed\/[0-9a-f]{16,}\//, '');

/** The setting that a refusal of the server is about, with what is wrong; null where it names none. */
export function mistakeIn(
  message: string,
  tried: Iterable<string>,
): { name: string; problem: string } | null {
  for (const name of tried) {
    for (const begin of [`${name}: `, `${name} = `]) {
      if (!message.startsWith(begin)) continue;
      const rest = message.slice(begin.length);
      if (begin.endsWith(': ')) return { name, problem: rest };
      const at = rest.lastIndexOf(': expected ');
      return { name, problem: at < 0 ? rest : rest.slice(at + 2) };
    }
  }
  return null;
}

/** A value as it is written in a `.conf` file: a line that ends with `\` goes on in the next one. */
const written = (value: string) => value.replaceAll('\n', '\\\n');

/** The settings that a source type needs so that its events are those of the preview. */
export function settingsToSave(preview: Preview): FieldPair[] {
  const isOwn = ({ isTried, stanza }: PropsSetting) =>
    isTried || (stanza !== null && stanza !== 'default' && !/^(?:host|source)::/.test(stanza));
  return preview.settings
    .filter((setting) => isOwn(setting) && setting.value !== '')
    .map(({ name, value }) => [name, value]);
}

/** A stanza of `props.conf`. */
export function stanzaText(name: string, settings: readonly FieldPair[]): string {
  const lines = settings.map(([key, value]) => `${key} = ${written(value)}`.trimEnd());
  return [`[${name}]`, ...lines, ''].join('\n');
}

/** Settings of a source type that another file or stanza sets to another value than was saved. */
export function overruled(preview: Preview, saved: readonly FieldPair[]): PropsSetting[] {
  const wanted = new Map(saved);
  return preview.settings.filter(
    ({ name, value }) => wanted.has(name) && wanted.get(name) !== value,
  );
}

/** Whether something of the events may not be as it is meant. */
export const isOdd = ({ undated, truncated, split }: PreviewTotals): boolean =>
  undated + truncated + split > 0;

/** What is notable about the totals. */
export function remarks({ undated, truncated, split, skipped, headers }: PreviewTotals): string[] {
  const notes: [number, string][] = [
    [undated, `${plural(undated, 'event')} without a timestamp`],
    [truncated, `${plural(truncated, 'line')} truncated (TRUNCATE)`],
    [split, `${plural(split, 'event')} split (MAX_EVENTS)`],
    [skipped, `${plural(skipped, 'line')} skipped`],
    [headers, 'the first line is a header'],
  ];
  return notes.filter(([number]) => number > 0).map(([, note]) => note);
}

/** What is said where nothing is notable. */
export const untroubled = ({ events }: PreviewTotals): string =>
  events === 0
    ? 'The text has no events.'
    : 'Every event has a timestamp, and nothing is truncated.';

/** Whether a preview that is up to date has something to load. */
export const isEmptyPreview = (preview: Preview | null, isStale: boolean): boolean =>
  !isStale && preview?.totals.events === 0;

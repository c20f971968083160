/** Indexes: what is in them, how long it is kept, and what a removal loses. */

import type { Entry } from '../api/types';
import { grouped } from '../app/format';
import { size } from '../inspector/inspection';
import { contentText, type Kind } from '../objects/kind';

const DAY = 86_400;

const number = (entry: Entry, name: string): number => Number(entry.content[name] ?? 0) || 0;

/** A time of the server to the minute. */
export const minute = (text: string): string => text.slice(0, 16).replace('T', ' ');

/** What the server shows of an index without limits: of its retention in seconds and its maximum size in MB. */
export const ENDLESS = 2_147_483_647;

/** `30 days`, `6 years`, `12 hours`. */
export function keptFor(seconds: number): string {
  if (seconds <= 0) return 'not kept';
  const days = seconds / DAY;
  if (seconds >= ENDLESS) return 'unlimited';
  if (days >= 730) return `${Math.round((10 * days) / 365) / 10} years`;
  if (days >= 2) return `${Math.round(days)} days`;
  if (seconds >= 7_200) return `${Math.round(seconds / 3_600)} hours`;
  if (seconds >= 120) return `${Math.round(seconds / 60)} minutes`;
  return `${seconds} seconds`;
}

/** The maximum size of an index; 0 is none. */
export const largest = (megabytes: number): string =>
  megabytes <= 0 || megabytes >= ENDLESS ? 'unlimited' : size(megabytes * 1024 * 1024);

export function lossOfIndex(entry: Entry): string {
  const events = number(entry, 'totalEventCount');
  if (events === 0) {
    return `The index ${entry.name} has no events. Senders that use it are refused from now on.`;
  }
  const from = minute(contentText(entry, 'minTime'));
  const to = minute(contentText(entry, 'maxTime'));
  const span = from && to ? ` from ${from} to ${to}` : '';
  return `${grouped(events)} events${span} (${size(number(entry, 'totalRawBytes'))} of text) are deleted, also in object storage. They cannot be restored. Senders that use the index are refused from now on.`;
}

function nameProblem(text: string): string | null {
  const name = text.trim();
  if (/^[_-]/.test(name))
    return 'The first character is a letter or a digit: _ is for internal indexes';
  return /^[a-z0-9_-]+$/.test(name) ? null : 'Lower-case letters, digits, _ and - only';
}

/** Unknown to users with a search filter, which hides some of the events. */
const ifKnown =
  (name: string, text: (value: number) => string) =>
  (entry: Entry): string =>
    entry.content[name] === null ? '' : text(number(entry, name));

/** Events of processes that do not answer are not counted. */
const events = (entry: Entry): string => {
  const text = ifKnown('totalEventCount', grouped)(entry);
  return text && entry.content.isCountComplete === false ? `at least ${text}` : text;
};

export const indexes: Kind = {
  title: 'Indexes',
  noun: 'index',
  about:
    'An index keeps events until they are older than its retention, or until it is larger than its maximum; then its oldest buckets are frozen.',
  path: '/services/data/indexes',
  isOfApps: false,
  capability: 'indexes_edit',
  columns: [
    {
      label: 'Events',
      isNumeric: true,
      text: events,
    },
    { label: 'Raw', isNumeric: true, text: ifKnown('totalRawBytes', size) },
    { label: 'Stored', isNumeric: true, text: ifKnown('totalStoredBytes', size) },
    { label: 'Earliest', text: (entry) => minute(contentText(entry, 'minTime')) },
    { label: 'Latest', text: (entry) => minute(contentText(entry, 'maxTime')) },
    { label: 'Retention', text: (entry) => keptFor(number(entry, 'frozenTimePeriodInSecs')) },
    {
      label: 'Maximum',
      isNumeric: true,
      text: (entry) => largest(number(entry, 'maxTotalDataSizeMB')),
    },
  ],
  fields: [
    {
      name: 'name',
      label: 'Name',
      kind: 'text',
      isRequired: true,
      when: 'new',
      help: 'Lower-case letters, digits, _ and -.',
      check: nameProblem,
    },
    {
      name: 'frozenTimePeriodInSecs',
      label: 'Retention in days',
      kind: 'number',
      scale: DAY,
      endless: ENDLESS,
      check: (text) =>
        Math.round(Number(text) * DAY) === 0
          ? 'With a retention of 0, events are deleted as soon as they are stored'
          : null,
      help: 'Older events are frozen: archived if coldToFrozenDir is set, otherwise deleted. Empty: without limit. Events in hot buckets stay until these are rolled.',
    },
    {
      name: 'maxTotalDataSizeMB',
      label: 'Maximum size in MB',
      kind: 'number',
      endless: ENDLESS,
      help: 'Above this size, the oldest buckets are frozen. Empty or 0: without limit.',
    },
  ],
  loss: lossOfIndex,
  isRemovalTyped: true,
  actions: (entry) =>
    entry.links.includes('roll-hot-buckets')
      ? [{ label: 'Roll hot buckets', path: `${entry.path}/roll-hot-buckets` }]
      : [],
};

/**
 * A search in the address: `?q=&earliest=&latest=&display.page.search.tab=&sid=`, with Splunk's names.
 * Reading what was written gives it back.
 */

import type { JobStatus } from '../api/types';
import { addressOf } from '../app/routing';
import { type OpenEvent, readOpenEvent, writeOpenEvent } from '../events/openEvent';
import {
  DEFAULT_RANGE,
  isTimeModifier,
  sameRange,
  type TimeRange,
  withoutRealTime,
} from '../time/timeRange';

export interface SearchRequest {
  query: string;
  range: TimeRange;
}

export const VIEWS = ['events', 'patterns', 'compare', 'statistics', 'visualizations'] as const;
export type ResultView = (typeof VIEWS)[number];

/** What an address of the search page says. */
export interface SearchAddress {
  /** Null: nothing is searched yet. */
  request: SearchRequest | null;
  /** A search that does not run before the user has chosen a time range: its times are invalid. */
  invalid?: { query: string; times: string[] };
  /** Whether the range was that of a real-time search. */
  isRealTime?: boolean;
  /** A job that may still be kept. */
  sid: string | null;
  /** A report to open instead. */
  report: string | null;
  /** Null: the view that fits the search. */
  view: ResultView | null;
  /** Whether events are shown as they arrive, instead of a search. */
  live?: boolean;
  /** The event whose details are open. */
  event?: OpenEvent | undefined;
}

const VIEW = 'display.page.search.tab';

export function readUrl(queryString: string): SearchRequest | null {
  return readAddress(queryString).request;
}

type Asked = Pick<SearchAddress, 'request' | 'invalid' | 'isRealTime'>;

function readAsked(parameters: URLSearchParams): Asked {
  const query = parameters.get('q');
  if (query === null) return { request: null };
  const written = { earliest: parameters.get('earliest'), latest: parameters.get('latest') };
  if (written.earliest === null && written.latest === null) {
    return { request: { query, range: DEFAULT_RANGE } };
  }
  const bound = (name: keyof TimeRange) => {
    const text = written[name]?.trim() ?? '';
    const plain = withoutRealTime(text, name);
    return { text, plain: plain ?? text, isRealTime: plain !== null };
  };
  const [earliest, latest] = [bound('earliest'), bound('latest')];
  const invalid = [earliest, latest].filter(({ plain }) => !isTimeModifier(plain));
  if (invalid.length > 0) {
    return { request: null, invalid: { query, times: invalid.map(({ text }) => text) } };
  }
  const request = { query, range: { earliest: earliest.plain, latest: latest.plain } };
  return earliest.isRealTime || latest.isRealTime ? { request, isRealTime: true } : { request };
}

export function readAddress(queryString: string): SearchAddress {
  const parameters = new URLSearchParams(queryString);
  const view = VIEWS.find((known) => known === parameters.get(VIEW)) ?? null;
  const event = readOpenEvent(parameters.get('event'));
  return {
    ...readAsked(parameters),
    sid: parameters.get('sid') || null,
    report: parameters.get('s') || null,
    view,
    ...(parameters.get('live') === '1' && { live: true }),
    ...(event && { event }),
  };
}

export function writeUrl(request: SearchRequest): string {
  return writeAddress('', { request, sid: null, report: null, view: null });
}

export function writeAddress(path: string, address: SearchAddress): string {
  const { request, sid, report, view, live, event } = address;
  return addressOf(path, {
    s: report ?? undefined,
    q: request?.query,
    earliest: request?.range.earliest,
    latest: request?.range.latest,
    [VIEW]: view ?? undefined,
    sid: sid ?? undefined,
    live: live ? '1' : undefined,
    event: event && writeOpenEvent(event),
  });
}

interface SharedJob {
  request: SearchRequest;
  job: Pick<JobStatus, 'earliestTime' | 'latestTime'>;
  sid: string;
  view: ResultView | null;
}

/** The address of a job, with the range that it searched: without the job, the same range is searched again. */
export function sharedAddress(path: string, { request, job, sid, view }: SharedJob): string {
  const range = { earliest: job.earliestTime || '0', latest: job.latestTime };
  const { query } = request;
  return writeAddress(path, { request: { query, range }, sid, report: null, view });
}

/** The address of the live tail of a search. The tail has no range; the search that follows it keeps its own. */
export const liveAddress = (path: string, request: SearchRequest): string =>
  writeAddress(path, { request, sid: null, report: null, view: null, live: true });

/** The address of another search of the same page: it can still be saved to the report of the page. */
export const addressAfter = (before: SearchAddress, request: SearchRequest): SearchAddress => ({
  request,
  sid: null,
  report: before.report,
  view: null,
});

export function sameRequest(a: SearchRequest | null, b: SearchRequest | null): boolean {
  if (a === null || b === null) return a === b;
  return a.query === b.query && sameRange(a.range, b.range);
}

/** The owner, app and name of a report, from a link such as `/servicesNS/ann/ops/saved/searches/disk`. */
export function reportOf(link: string, app: string): { owner: string; app: string; name: string } {
  const match = /^\/servicesNS\/([^/]+)\/([^/]+)\/saved\/searches\/(.+)$/.exec(link);
  if (!match) return { owner: '-', app, name: link };
  const [, owner = '', of = '', name = ''] = match.map((part) => {
    try {
      return decodeURIComponent(part);
    } catch {
      return part;
    }
  });
  return { owner, app: of, name };
}

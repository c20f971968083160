import { expect, it } from 'vitest';
import { ALL_TIME, absoluteRange, DEFAULT_RANGE } from '../time/timeRange';
import {
  addressAfter,
  liveAddress,
  readAddress,
  readUrl,
  reportOf,
  sameRequest,
  sharedAddress,
  writeAddress,
  writeUrl,
} from './urlState';

it.each([
  'index=main error',
  'a="x & y" | eval z="50%+1#"',
  'line one\n| stats count by host',
  'emoji 🪨 "quoted \\" text"',
])('%j survives the address bar', (query) => {
  const request = { query, range: absoluteRange(1763672400.5, 1763672401) };
  expect(readUrl(writeUrl(request))).toEqual(request);
});

it('keeps the range that has no end', () =>
  expect(readUrl(writeUrl({ query: '*', range: ALL_TIME }))?.range).toEqual(ALL_TIME));

it('an address without a search asks for none', () => expect(readUrl('?earliest=-1h')).toBeNull());

it('a search without times gets the default range', () =>
  expect(readUrl('?q=error')?.range).toEqual(DEFAULT_RANGE));

it('a search with an invalid time does not run', () => {
  expect(readAddress('?q=error&earliest=soon&latest=now')).toMatchObject({
    request: null,
    invalid: { query: 'error', times: ['soon'] },
  });
  expect(readAddress('?q=error&earliest=foo&latest=%3Cb%3E').invalid?.times).toEqual([
    'foo',
    '<b>',
  ]);
  expect(readAddress('?q=error&earliest=rtfoo&latest=rt').invalid?.times).toEqual(['rtfoo']);
});

it('a real-time range is the same range once', () => {
  expect(readAddress('?q=error&earliest=rt-5m&latest=rt')).toMatchObject({
    request: { query: 'error', range: { earliest: '-5m', latest: 'now' } },
    isRealTime: true,
  });
  expect(readAddress('?q=error&earliest=-5m&latest=now').isRealTime).toBeUndefined();
});

it('requests are the same when their addresses are', () => {
  const request = { query: 'a', range: DEFAULT_RANGE };
  expect(sameRequest(request, { ...request })).toBe(true);
  expect(sameRequest(request, null)).toBe(false);
});

it('an address has the job and the view beside the search', () => {
  const address = {
    request: { query: 'error | stats count', range: DEFAULT_RANGE },
    sid: '1764158400.7',
    report: null,
    view: 'statistics' as const,
  };
  const text = writeAddress('/app/search/search', address);
  expect(text.startsWith('/app/search/search?q=')).toBe(true);
  expect(readAddress(text.slice(text.indexOf('?')))).toEqual(address);
});

it('an address has the event whose details are open, and another search has none', () => {
  const event = { place: 12, time: 1795992040.25 };
  const request = { query: 'error', range: DEFAULT_RANGE };
  const address = { request, sid: '1.2', report: null, view: null, event };
  const text = writeAddress('', address);
  expect(text).toContain('&event=12_1795992040.25');
  expect(readAddress(text)).toEqual(address);
  expect(addressAfter(address, { ...request, query: 'other' })).not.toHaveProperty('event');
});

it('a changed search stays that of the report in the address', () => {
  const before = readAddress('?s=disk&q=index%3Dos&sid=1.2&display.page.search.tab=statistics');
  const request = { query: 'index=os disk', range: DEFAULT_RANGE };
  const after = { request, sid: null, report: 'disk', view: null };
  expect(addressAfter(before, request)).toEqual(after);
});

it('a link to a report names its owner and app', () => {
  expect(reportOf('/servicesNS/nobody/ops/saved/searches/disk%20full', 'search')).toEqual({
    owner: 'nobody',
    app: 'ops',
    name: 'disk full',
  });
  expect(reportOf('disk full', 'search')).toEqual({ owner: '-', app: 'search', name: 'disk full' });
});

it('a shared address has the job and the times that it searched', () => {
  const request = { query: 'index=os "a b" | stats count', range: DEFAULT_RANGE };
  const job = {
    earliestTime: '2026-11-01T10:00:00.000+01:00',
    latestTime: '2026-11-01T11:00:00.000+01:00',
  };
  const text = sharedAddress('/app/ops/search', { request, job, sid: '1.2_a', view: 'statistics' });
  expect(readAddress(text.slice(text.indexOf('?')))).toEqual({
    request: {
      query: request.query,
      range: { earliest: job.earliestTime, latest: job.latestTime },
    },
    sid: '1.2_a',
    report: null,
    view: 'statistics',
  });
  const all = { earliestTime: '', latestTime: '' };
  expect(readUrl(sharedAddress('', { request, job: all, sid: '1', view: null }))?.range).toEqual({
    earliest: '0',
    latest: '',
  });
});

it('a live tail keeps the range of its search, for the search that follows it', () => {
  const request = { query: 'error', range: { earliest: '-15m', latest: 'now' } };
  const search = liveAddress('', request);
  expect(readAddress(search)).toMatchObject({ request, live: true, sid: null });
});

it('an address may ask for a live tail', () => {
  const address = {
    request: { query: 'error', range: DEFAULT_RANGE },
    sid: null,
    report: null,
    view: null,
    live: true,
  };
  expect(readAddress(writeAddress('', address))).toEqual(address);
  expect(readAddress('?q=a').live).toBeUndefined();
});

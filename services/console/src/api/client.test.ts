import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { ApiError, KarstClient } from './client';
import { fromByteOffset, toByteOffset } from './offsets';
import { ANSWERS, DIAGNOSTIC } from './recorded';

interface Seen {
  method: string;
  path: string;
  query: Record<string, string>;
  form: Record<string, string>;
  authorization: string | undefined;
}

let server: Server;
let baseUrl: string;
let seen: Seen[] = [];
let override: { status: number; body: string } | null = null;

async function bodyOf(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const url = new URL(request.url ?? '/', 'http://local');
    seen.push({
      method: request.method ?? '',
      path: url.pathname,
      query: Object.fromEntries(url.searchParams),
      form: Object.fromEntries(new URLSearchParams(await bodyOf(request))),
      authorization: request.headers.authorization,
    });
    const answer = override ?? ANSWERS[`${request.method} ${url.pathname}`];
    response.writeHead(answer?.status ?? 404, { 'content-type': 'application/json' });
    response.end(answer?.body ?? '{"messages":[{"type":"ERROR","text":"Not Found"}]}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(() => server.close());

beforeEach(() => {
  seen = [];
  override = null;
});

const client = (renew?: (used: string) => Promise<string>) =>
  new KarstClient({ baseUrl, sessionKey: 'K', renew });

async function failure(promise: Promise<unknown>): Promise<ApiError> {
  const error = await promise.then(
    () => null,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
}

describe('logging in', () => {
  it('sends a form and returns the key', async () => {
    expect(await new KarstClient({ baseUrl }).login('admin', 'p&ss=1')).toBe('KEY-1');
    expect(seen[0]?.form).toEqual({
      username: 'admin',
      password: 'p&ss=1',
      cookie: '1',
      output_mode: 'json',
    });
    expect(seen[0]?.authorization).toBeUndefined();
  });

  it('says why it failed, and expires no session', async () => {
    override = { status: 401, body: '{"messages":[{"type":"WARN","text":"Login failed"}]}' };
    const error = await failure(new KarstClient({ baseUrl }).login('admin', 'x'));
    expect([error.kind, error.message]).toEqual(['unauthorized', 'Login failed']);
  });
});

describe('a search job', () => {
  it('is created as typed, with the range and the zone', async () => {
    expect(
      await client().createJob({ search: ' a=1 ', earliest: '-1h', latest: '', timezone: 'UTC' }),
    ).toBe('S1');
    expect(seen[0]?.form).toEqual({
      search: 'a=1',
      timezone: 'UTC',
      status_buckets: '300',
      earliest_time: '-1h',
      output_mode: 'json',
    });
    expect(seen[0]?.authorization).toBe('Splunk K');
  });

  it('that does not parse keeps the lines of the diagnostic', async () => {
    override = {
      status: 400,
      body: JSON.stringify({ messages: [{ type: 'FATAL', text: DIAGNOSTIC }] }),
    };
    const error = await failure(
      client().createJob({ search: '|', earliest: '', latest: '', timezone: 'UTC' }),
    );
    expect([error.kind, error.message]).toEqual(['rejected', DIAGNOSTIC]);
  });

  it('reports its progress', async () => {
    expect(await client().job('S1')).toMatchObject({
      dispatchState: 'RUNNING',
      isDone: false,
      doneProgress: 0.5,
      eventCount: 1200,
      scanCount: 40000,
      reportSearch: null,
      messages: [{ type: 'WARN', text: 'limit reached' }],
    });
  });

  it('is controlled by a posted action', async () => {
    await client().control('S1', 'finalize');
    expect(seen[0]).toMatchObject({ method: 'POST', form: { action: 'finalize' } });
  });

  it('is exported with its search in the address, or in a form', async () => {
    override = { status: 200, body: '{}' };
    const request = { search: 'index=a', earliest: '1', latest: '2', timezone: 'UTC' };
    await client().exportOf(request, 'GET');
    await client().exportOf(request, 'POST');
    expect(seen.map(({ method, query, form }) => [method, query.search, form.search])).toEqual([
      ['GET', 'index=a', undefined],
      ['POST', undefined, 'index=a'],
    ]);
  });

  it('and its export search for the words that were typed', async () => {
    override = { status: 200, body: '{"sid":"S1"}' };
    const request = { search: 'sort error', earliest: '', latest: '', timezone: 'UTC' };
    await client().createJob(request);
    await client().exportOf(request, 'GET');
    await client().exportOf(request, 'POST');
    const sent = seen.map(({ query, form }) => form.search ?? query.search);
    expect(sent).toEqual(Array(3).fill('search sort error'));
  });

  it('with an odd id stays one path segment', async () => {
    await failure(client().job('a/b?c'));
    expect(seen[0]?.path).toBe('/services/search/v2/jobs/a%2Fb%3Fc');
  });
});

describe('what a job holds', () => {
  it('events come with their highlighted words and multivalue fields', async () => {
    const page = await client().events('S1', { offset: 50, count: 50 });
    expect(page.highlighted).toEqual(['error']);
    expect(page.events[0]).toMatchObject({ host: 'web-01', tag: ['a', 'b'] });
    expect(seen[0]?.query).toMatchObject({ offset: '50', count: '50', highlight: '1' });
  });

  it('rows keep multivalues and nulls apart from empty text', async () => {
    const rows = await client().rows('S1', 'results', { offset: 0, count: 100 });
    expect(rows.fields).toEqual(['host', 'count', 'users']);
    expect(rows.rows).toEqual([
      ['web-01', '12', ['a', 'b']],
      ['', '3', null],
    ]);
  });

  it('the timeline is in order of time', async () => {
    const timeline = await client().timeline('S1');
    expect(timeline.buckets.map((bucket) => bucket.start)).toEqual([1000, 1060]);
    expect(timeline.eventCount).toBe(7);
  });

  it('the summary lists fields with their top values', async () => {
    const summary = await client().summary('S1');
    expect(summary.eventCount).toBe(9);
    expect(summary.fields).toEqual([
      expect.objectContaining({
        name: 'host',
        count: 7,
        distinctCount: 2,
        isExact: false,
        modes: [{ value: 'web-01', count: 5 }],
      }),
    ]);
  });

  it('the inspector says where time, bytes and dollars went', async () => {
    const inspection = await client().inspect('S1');
    expect(inspection.phases.map((phase) => phase.rowsOut)).toEqual([null, 30]);
    expect(inspection.plans[0]?.inputs[0]?.name).toBe('BucketScanExec');
    expect(inspection.tiers.map((tier) => tier.bytes)).toEqual([7168, 0, 2048]);
    expect([inspection.storeRequests, inspection.pricePer1000]).toEqual([2, 0.0004]);
    expect(inspection.scan).toEqual({ buckets_considered: 9, buckets_searched: 4 });
    expect(inspection.prunedBy).toEqual(['[ AND error 500 ]']);
  });

  it('an answer without a body is nothing yet', async () => {
    override = { status: 204, body: '' };
    expect((await client().rows('S1', 'results', { offset: 0, count: 1 })).rows).toEqual([]);
  });
});

describe('failures', () => {
  it('after the end of the session, a request waits for the next one and is sent once more', async () => {
    override = { status: 401, body: '{"messages":[{"type":"WARN","text":"not authenticated"}]}' };
    const used: string[] = [];
    const renewing = client(async (key) => {
      used.push(key);
      override = null;
      return 'K2';
    });
    const request = { search: 'error', earliest: '', latest: '', timezone: 'UTC' };
    expect(await renewing.createJob(request)).toBe('S1');
    expect([used, seen.map(({ authorization }) => authorization)]).toEqual([
      ['K'],
      ['Splunk K', 'Splunk K2'],
    ]);
  });

  it('a request that is refused in the next session, too, has failed', async () => {
    override = { status: 401, body: '{"messages":[{"type":"WARN","text":"not authenticated"}]}' };
    expect((await failure(client(async () => 'K2').job('S1'))).kind).toBe('unauthorized');
    expect(seen).toHaveLength(2);
  });

  it('signing out does not wait for a login', async () => {
    override = { status: 401, body: '{"messages":[{"type":"WARN","text":"not authenticated"}]}' };
    const renew = () => Promise.reject(new Error('asked to log in'));
    expect((await failure(client(renew).logout())).kind).toBe('unauthorized');
  });

  it('signing out goes on at the provider, also where other servers are told later', async () => {
    const body = '{"messages":[{"type":"FATAL","text":"later"}],"redirect":"https://idp/out"}';
    override = { status: 503, body };
    expect(await client().logout()).toEqual({ redirect: 'https://idp/out', told: 'later' });
    override = { status: 200, body: '{}' };
    expect(await client().logout()).toEqual({ redirect: null, told: null });
    override = { status: 500, body: '{}' };
    expect((await failure(client().logout())).kind).toBe('server');
  });

  it('an unknown job is not found', async () =>
    expect((await failure(client().job('gone'))).kind).toBe('notFound'));

  it('a page of a proxy is a server error with its status', async () => {
    override = { status: 500, body: '<html>' };
    const error = await failure(client().job('S1'));
    expect([error.kind, error.message]).toEqual([
      'server',
      'the server answered 500 Internal Server Error',
    ]);
  });

  it('a server that is away is unreachable', async () => {
    const away = new KarstClient({ baseUrl: 'http://127.0.0.1:1', sessionKey: 'K' });
    expect((await failure(away.job('S1'))).kind).toBe('unreachable');
  });

  it('an aborted request is no failure of the server', async () => {
    const aborted = AbortSignal.abort();
    await expect(client().job('S1', aborted)).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('completion', () => {
  it('that the server lacks is asked for once', async () => {
    const only = client();
    expect(await only.complete('a', 1)).toEqual([]);
    expect(await only.complete('ab', 2)).toEqual([]);
    expect(seen).toHaveLength(1);
  });

  it('replaces a span of the text', async () => {
    const body = '{"suggestions":[{"label":"stats","detail":"command","from":2,"to":4}]}';
    override = { status: 200, body };
    expect(await client().complete('| st', 4)).toEqual([
      { label: 'stats', detail: 'command', insert: 'stats', from: 2, to: 4 },
    ]);
  });
});

it('the version of the server is that of Karst, not of the REST API', async () => {
  const content = { version: '10.0.0', karst_version: '0.1.0', serverName: 'node' };
  override = { status: 200, body: JSON.stringify({ entry: [{ name: 'server-info', content }] }) };
  expect(await client().serverInfo()).toEqual({ version: '0.1.0', serverName: 'node' });
});

it('completions in the shape of the parser are understood', async () => {
  const body =
    '{"suggestions":[{"text":"stats","kind":"command","summary":"counts","span":{"start":2,"end":4}}]}';
  override = { status: 200, body };
  expect(await client().complete('| st', 4)).toEqual([
    { label: 'stats', detail: 'counts', insert: 'stats', from: 2, to: 4 },
  ]);
});

it('offsets are bytes on the server and code units here', () => {
  const text = 'ä🪨|x';
  expect([0, 1, 3, 4, 5].map((offset) => toByteOffset(text, offset))).toEqual([0, 2, 6, 7, 8]);
  expect([0, 2, 6, 7, 8, 99].map((bytes) => fromByteOffset(text, bytes))).toEqual([
    0, 1, 3, 4, 5, 5,
  ]);
});

describe('what a page can do about a failure', () => {
  it.each([
    [400, 'rejected'],
    [401, 'unauthorized'],
    [403, 'forbidden'],
    [404, 'notFound'],
    [409, 'conflict'],
    [413, 'tooLarge'],
    [429, 'busy'],
    [500, 'server'],
    [502, 'unreachable'],
    [503, 'busy'],
  ])('follows from the status %i: %s', async (status, kind) => {
    override = { status, body: '{}' };
    expect((await failure(client().job('S1'))).kind).toBe(kind);
  });
});

describe('an app', () => {
  it('is part of the paths of its searches and reports', async () => {
    override = { status: 200, body: '{"sid":"S1"}' };
    const namespace = { owner: 'ann', app: 'my app' };
    const request = { search: 'a', earliest: '', latest: '', timezone: 'UTC', namespace };
    await client().createJob(request);
    const report = { name: 'a/b', description: '', search: 'a', earliest: '', latest: '' };
    await client().createReport(namespace, { ...report, shared: true });
    expect(seen.map((one) => one.path)).toEqual([
      '/servicesNS/ann/my%20app/search/v2/jobs',
      '/servicesNS/ann/my%20app/saved/searches',
      '/servicesNS/ann/my%20app/saved/searches/a%2Fb/acl',
    ]);
    expect(seen[2]?.form).toMatchObject({ sharing: 'app', owner: 'ann' });
  });
});

describe('many jobs', () => {
  it('are asked for in one request', async () => {
    const content = { isDone: true, dispatchState: 'DONE', ttl: 600 };
    const reads = { store: { bytes: 2048 }, store_requests: 3 };
    const jobs = [{ sid: 'a', content, cost: { dollars: 0.5, reads } }];
    override = { status: 200, body: JSON.stringify({ jobs, unknown: ['b'] }) };
    const found = await client().jobStatuses(['a', 'b']);
    expect(seen[0]?.path).toBe('/api/v1/jobs/status');
    expect(found.unknown).toEqual(['b']);
    expect(found.jobs.get('a')?.status.ttl).toBe(600);
    expect(found.jobs.get('a')?.cost).toEqual({
      dollars: 0.5,
      storeRequests: 3,
      bytes: { dram: 0, nvme: 0, store: 2048 },
    });
  });
});

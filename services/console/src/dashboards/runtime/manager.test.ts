import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ApiError } from '../../api/client';
import type { JobStatus, ResultRows } from '../../api/types';
import { allSearches, readDashboard } from '../model/reader';
import { MAX_RUNNING, type ManagerOptions, SearchManager } from './manager';
import { joined, pipeline } from './searchText';
import type { JobSpec, SearchServer } from './server';
import { TokenStore } from './tokens';

const ROWS: ResultRows = { fields: ['count'], rows: [['3']], preview: false, messages: [] };
const STATUS: JobStatus = {
  dispatchState: 'RUNNING',
  isDone: false,
  isFailed: false,
  isFinalized: false,
  isPartial: false,
  isSaved: false,
  ttl: 600,
  isPaused: false,
  doneProgress: 0,
  eventCount: 0,
  eventAvailableCount: 0,
  scanCount: 0,
  resultCount: 1,
  resultPreviewCount: 0,
  numPreviews: 0,
  runDuration: 0,
  earliestTime: '',
  latestTime: '',
  reportSearch: null,
  eventIsTruncated: false,
  messages: [],
};

const AWAY = new ApiError('unreachable', 0, [{ type: 'ERROR', text: 'away' }]);

/** A server in memory: jobs run until they are told to be done. */
class Server implements SearchServer {
  readonly created: (JobSpec & { sid: string })[] = [];
  readonly cancelled: string[] = [];
  readonly fetched: (string | null)[] = [];
  readonly done = new Set<string>();
  statusRequests = 0;

  /** Jobs that the server takes at a time. */
  quota = Number.POSITIVE_INFINITY;

  isAway = false;
  /** Jobs that a restart has ended. */
  readonly lost = new Set<string>();

  ping(): Promise<void> {
    return this.isAway ? Promise.reject(AWAY) : Promise.resolve();
  }
  createJob(spec: JobSpec): Promise<string> {
    if (this.isAway) return Promise.reject(AWAY);
    const running = this.created.filter((one) => !this.done.has(one.sid)).length;
    if (running >= this.quota) {
      const text = 'the quota is 3 (srchJobsQuota of the roles)';
      return Promise.reject(new ApiError('busy', 429, [{ type: 'ERROR', text }]));
    }
    const sid = `job_${this.created.length}`;
    this.created.push({ ...spec, sid });
    return Promise.resolve(sid);
  }
  jobs(sids: string[]): Promise<Map<string, JobStatus>> {
    this.statusRequests += 1;
    if (this.isAway) return Promise.reject(AWAY);
    const there = sids.filter((sid) => !this.lost.has(sid));
    return Promise.resolve(
      new Map(there.map((sid) => [sid, { ...STATUS, isDone: this.done.has(sid) }])),
    );
  }
  rows(sid: string, _preview: boolean, _count: number, postProcess: string | null) {
    if (this.lost.has(sid)) return Promise.reject(new ApiError('notFound', 404, []));
    this.fetched.push(postProcess);
    return Promise.resolve(ROWS);
  }
  cancel(sid: string): void {
    this.cancelled.push(sid);
  }
  report() {
    const display = new Map([['display.visualizations.charting.chart', 'area']]);
    const range = { earliest: '-1h', latest: 'now' };
    return Promise.resolve({ search: 'index=r', ...range, app: 'other', display });
  }
  get texts(): string[] {
    return this.created.map((spec) => spec.search);
  }
  finish(): void {
    for (const { sid } of this.created) this.done.add(sid);
  }
}

let server: Server;
let tokens: TokenStore;

function open(
  xml: string,
  feed: ManagerOptions['feed'] = {},
  onEvent: ManagerOptions['onEvent'] = () => {},
): { manager: SearchManager; keys: string[] } {
  const dashboard = readDashboard(`<dashboard>${xml}</dashboard>`);
  const searches = allSearches(dashboard);
  const options = { server, tokens, app: 'a', timezone: 'UTC', feed, onEvent };
  const manager = new SearchManager(searches, options);
  manager.start();
  const elements = dashboard.rows.flatMap((row) => row.panels.flatMap((panel) => panel.elements));
  return { manager, keys: elements.flatMap((element) => element.search?.key ?? []) };
}

const table = (search: string) => `<row><panel><table>${search}</table></panel></row>`;
const settle = () => vi.advanceTimersByTimeAsync(2_500);

beforeEach(() => {
  vi.useFakeTimers();
  server = new Server();
  tokens = new TokenStore();
});
afterEach(() => vi.useRealTimers());

it('searches that failed while the server was away run again once it is back', async () => {
  server.isAway = true;
  const base = '<search id="b"><query>index=b</query></search>';
  const { manager, keys } = open(
    base +
      table('<search><query>index=a</query></search>') +
      table('<search base="b"><query>stats count</query></search>'),
  );
  for (const key of keys) manager.watch(key);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(keys.map((key) => manager.state(key).phase)).toEqual(['failed', 'failed']);
  server.isAway = false;
  await settle();
  await settle();
  expect([...server.texts].sort()).toEqual(['index=a', 'index=b']);
  server.finish();
  await settle();
  expect(keys.map((key) => manager.state(key).phase)).toEqual(['done', 'done']);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(server.created).toHaveLength(2);
});

it('a search whose job a restart of the server has ended runs again, one that was deleted does not', async () => {
  const { manager, keys } = open(table('<search><query>index=a</query></search>'));
  manager.watch(keys[0] ?? '');
  await settle();
  server.isAway = true;
  await settle();
  server.lost.add('job_0');
  server.isAway = false;
  await settle();
  expect(server.texts).toEqual(['index=a', 'index=a']);
  server.lost.add('job_1');
  await settle();
  expect(manager.state(keys[0] ?? '').error?.message).toContain('the job is gone');
  expect(server.created).toHaveLength(2);
});

it('a search whose job is gone when its rows are read runs again, with those based on it', async () => {
  const base = '<search id="b"><query>index=b</query></search>';
  const both = table('<search base="b"><query>stats count</query></search>');
  const { manager, keys } = open(base + both + table('<search><query>index=a</query></search>'));
  for (const key of keys) manager.watch(key);
  await settle();
  server.finish();
  // The statuses have arrived when the server restarts, which loses the jobs.
  vi.spyOn(server, 'jobs').mockImplementationOnce(async (sids) => {
    for (const sid of sids) server.lost.add(sid);
    return new Map(sids.map((sid) => [sid, { ...STATUS, isDone: true }]));
  });
  await settle();
  await settle();
  expect([...server.texts].sort()).toEqual(['index=a', 'index=a', 'index=b', 'index=b']);
  server.finish();
  await settle();
  expect(keys.map((key) => manager.state(key).phase)).toEqual(['done', 'done']);
  expect(server.created).toHaveLength(4);
});

it('a search whose job is lost again and again does not run again without end', async () => {
  const { manager, keys } = open(table('<search><query>index=a</query></search>'));
  manager.watch(keys[0] ?? '');
  await settle();
  for (let at = 0; at < 10; at += 1) {
    server.isAway = true;
    await settle();
    for (const { sid } of server.created) server.lost.add(sid);
    server.isAway = false;
    await settle();
  }
  expect(server.created).toHaveLength(3);
  expect(manager.state(keys[0] ?? '').error?.message).toContain('the job is gone');
});

it.each(['index=a | outputlookup append=true x.csv', 'index=a | `store`'])(
  'a search that may write does not run again by itself: %s',
  async (query) => {
    const { manager, keys } = open(table(`<search><query>${query}</query></search>`));
    const [key = ''] = keys;
    manager.watch(key);
    await settle();
    server.finish();
    // Gone when its rows are read, ...
    vi.spyOn(server, 'jobs').mockImplementationOnce(async (sids) => {
      for (const sid of sids) server.lost.add(sid);
      return new Map(sids.map((sid) => [sid, { ...STATUS, isDone: true }]));
    });
    await settle();
    await settle();
    expect(manager.state(key)).toMatchObject({ phase: 'failed', error: { kind: 'notFound' } });
    expect(server.texts).toEqual([query]);
    // ... gone when its status is asked for, ...
    manager.rerun(key);
    await settle();
    server.isAway = true;
    await settle();
    server.lost.add('job_1');
    server.isAway = false;
    await settle();
    expect(manager.state(key).error?.message).toContain('the job is gone');
    // ... or sent to a server that is away, with a search based on it.
    server.isAway = true;
    manager.rerun(key);
    await settle();
    server.isAway = false;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(manager.state(key)).toMatchObject({ phase: 'failed', error: { kind: 'unreachable' } });
    expect(server.texts).toEqual([query, query]);
  },
);

it('a job that writes and is still there after the server was away goes on', async () => {
  const { manager, keys } = open(
    table('<search><query>index=a | collect index=b</query></search>'),
  );
  manager.watch(keys[0] ?? '');
  await settle();
  server.isAway = true;
  await vi.advanceTimersByTimeAsync(20_000);
  server.isAway = false;
  server.finish();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(manager.state(keys[0] ?? '').phase).toBe('done');
  expect(server.created).toHaveLength(1);
});

it.each([false, true])(
  'rows that an outage kept from a job that is done are read once more (of a search based on it: %s)',
  async (isOfChild) => {
    const base = '<search id="b"><query>index=a | `store`</query></search>';
    const { manager, keys } = open(
      base + table('<search base="b"><query>stats count</query></search>'),
    );
    const [key = ''] = keys;
    manager.watch(key);
    await settle();
    server.finish();
    const rows = vi.spyOn(server, 'rows');
    if (isOfChild) rows.mockImplementationOnce(() => Promise.resolve(ROWS));
    rows.mockImplementationOnce(() => Promise.reject(AWAY));
    await settle();
    expect(manager.state(key)).toMatchObject({ phase: 'failed', error: { kind: 'unreachable' } });
    await settle();
    await settle();
    expect(manager.state(key)).toMatchObject({ phase: 'done', rows: ROWS, error: null });
    expect(server.created).toHaveLength(1);
  },
);

it('a base that writes does not run again for a search based on it', async () => {
  server.isAway = true;
  const base = '<search id="b"><query>index=b | collect index=c</query></search>';
  const { manager, keys } = open(
    base + table('<search base="b"><query>stats count</query></search>'),
  );
  manager.watch(keys[0] ?? '');
  await settle();
  server.isAway = false;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(manager.state(keys[0] ?? '').phase).toBe('failed');
  expect(server.created).toHaveLength(0);
});

it.each([true, false])(
  'a late answer about the rows of a lost job has no effect (it is an error: %s)',
  async (isError) => {
    const panel = table('<search><query>index=a</query></search>');
    const { manager, keys } = open(panel + panel);
    for (const key of keys) manager.watch(key);
    await settle();
    const gone = new ApiError('notFound', 404, []);
    let answer = () => {};
    vi.spyOn(server, 'rows')
      .mockImplementationOnce(() => Promise.reject(gone))
      .mockImplementationOnce(
        () =>
          new Promise((resolve, reject) => {
            answer = () => (isError ? reject(gone) : resolve(ROWS));
          }),
      );
    server.finish();
    await settle();
    expect(server.created).toHaveLength(2);
    const phases = () => keys.map((key) => manager.state(key).phase);
    if (isError) {
      server.finish();
      await settle();
    }
    const before = phases();
    answer();
    await settle();
    expect(phases()).toEqual(before);
    expect(before).toEqual(isError ? ['done', 'done'] : ['running', 'running']);
    expect(server.created).toHaveLength(2);
  },
);

it('two panels with the same failed search are tried again one after the other', async () => {
  const both = table('<search><query>index=a</query></search>');
  const { manager, keys } = open(both + both);
  for (const key of keys) manager.watch(key);
  await settle();
  server.lost.add('job_0');
  await settle();
  expect(keys.map((key) => manager.state(key).phase)).toEqual(['failed', 'failed']);
  manager.rerun(keys[0] ?? '');
  await settle();
  manager.rerun(keys[1] ?? '');
  await settle();
  server.finish();
  await settle();
  await settle();
  expect(keys.map((key) => manager.state(key).phase)).toEqual(['done', 'done']);
});

it('a search whose results never arrive does not run again without end', async () => {
  const { manager, keys } = open(table('<search><query>index=a</query></search>'));
  server.rows = () => Promise.reject(AWAY);
  manager.watch(keys[0] ?? '');
  for (let at = 0; at < 60; at += 1) {
    await settle();
    server.finish();
    await settle();
  }
  expect(server.created.length).toBeLessThanOrEqual(3);
});

it('a job that was deleted after a cut that it survived is not run again', async () => {
  const { manager, keys } = open(table('<search><query>index=a</query></search>'));
  manager.watch(keys[0] ?? '');
  await settle();
  server.isAway = true;
  await settle();
  server.isAway = false;
  await settle();
  server.lost.add('job_0');
  await settle();
  expect(server.created).toHaveLength(1);
  expect(manager.state(keys[0] ?? '').error?.message).toContain('the job is gone');
});

it('a job that is still there after the server was away goes on', async () => {
  const { manager, keys } = open(table('<search><query>index=a</query></search>'));
  manager.watch(keys[0] ?? '');
  await settle();
  server.isAway = true;
  await vi.advanceTimersByTimeAsync(20_000);
  expect(manager.state(keys[0] ?? '').phase).toBe('failed');
  server.isAway = false;
  server.finish();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(manager.state(keys[0] ?? '').phase).toBe('done');
  expect(server.created).toHaveLength(1);
});

it('runs what is watched, and nothing else', async () => {
  const { manager, keys } = open(
    table('<search><query>index=a</query></search>') +
      table('<search><query>index=b</query></search>'),
  );
  manager.watch(keys[0] ?? '');
  await settle();
  expect(server.texts).toEqual(['index=a']);
});

it('the same text, range and app is one job', async () => {
  const one = table('<search><query>index=a</query><earliest>-1h</earliest></search>');
  const { manager, keys } = open(one + one);
  for (const key of keys) manager.watch(key);
  server.finish();
  await settle();
  server.finish();
  await settle();
  expect(server.texts).toEqual(['index=a']);
  expect(keys.map((key) => manager.state(key).phase)).toEqual(['done', 'done']);
});

it('waits for tokens and names them, and runs again when one changes', async () => {
  const { manager, keys } = open(table('<search><query>index=$i$ $x$</query></search>'));
  const key = keys[0] ?? '';
  manager.watch(key);
  expect(manager.state(key)).toMatchObject({ phase: 'waiting', missing: ['i', 'x'] });
  tokens.set('i', 'a', true);
  tokens.set('x', '', true);
  await settle();
  tokens.set('i', 'b', true);
  await settle();
  expect(server.texts).toEqual(['index=a', 'index=b']);
  // The job of the text before is of no use any more.
  expect(server.cancelled).toEqual([server.created[0]?.sid]);
});

it('what only the default set has is not searched with', async () => {
  const { manager, keys } = open(table('<search><query>index=$i$</query></search>'));
  manager.watch(keys[0] ?? '');
  tokens.set('i', 'a', false);
  await settle();
  expect(server.texts).toEqual([]);
  tokens.submit();
  await settle();
  expect(server.texts).toEqual(['index=a']);
});

it('a search with a base takes its rows from the base, through all its bases', async () => {
  const { manager, keys } = open(
    `<search id="b"><query>index=a</query></search>
     <search id="c" base="b"><query>stats count by host</query></search>
     ${table('<search base="c"><query>| sort - count</query></search>')}`,
  );
  const key = keys[0] ?? '';
  manager.watch(key);
  await settle();
  expect(server.texts).toEqual(['index=a']);
  expect(manager.state(key).phase).toBe('running');
  server.finish();
  await settle();
  expect(manager.state(key)).toMatchObject({ phase: 'done', rows: ROWS });
  expect(server.fetched).toContain('| stats count by host | sort - count');
});

it('a base that is not there is said', () => {
  const { manager, keys } = open(table('<search base="none"><query>stats count</query></search>'));
  manager.watch(keys[0] ?? '');
  expect(manager.state(keys[0] ?? '').error?.message).toContain('"none"');
});

it('no more than so many jobs run at a time, in the order of the page', async () => {
  const many = Array.from(
    { length: MAX_RUNNING + 3 },
    (_, at) => `<search><query>index=i${at}</query></search>`,
  );
  const { manager, keys } = open(many.map(table).join(''));
  for (const key of [...keys].reverse()) manager.watch(key);
  await settle();
  // The last one was the first to be watched; its turn had come.
  expect(server.created).toHaveLength(MAX_RUNNING);
  const held = () => keys.filter((key) => manager.state(key).isHeld);
  expect(held()).toHaveLength(3);
  server.finish();
  await settle();
  expect(server.created).toHaveLength(MAX_RUNNING + 3);
  expect(held()).toEqual([]);
});

it('a search whose job the server is being asked for is not held, nor are those based on it', () => {
  server.createJob = () => new Promise(() => {});
  const { manager, keys } = open(
    `<search id="base"><query>index=a</query></search>${table('<search base="base"><query>stats count</query></search>')}`,
  );
  manager.watch(keys[0] ?? '');
  expect(manager.state(keys[0] ?? '')).toMatchObject({ phase: 'queued', isHeld: false });
});

it('a search that the server has no place for waits for its turn and does not fail', async () => {
  server.quota = 3;
  const many = Array.from({ length: 8 }, (_, at) =>
    table(`<search><query>index=i${at}</query></search>`),
  );
  const { manager, keys } = open(many.join(''));
  for (const key of keys) manager.watch(key);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(server.created).toHaveLength(3);
  const phases = keys.map((key) => manager.state(key).phase);
  expect(phases.filter((phase) => phase === 'queued')).toHaveLength(5);
  expect(keys.filter((key) => manager.state(key).isHeld)).toHaveLength(5);
  for (let round = 0; round < 4; round += 1) {
    server.finish();
    await vi.advanceTimersByTimeAsync(5_000);
  }
  expect(keys.map((key) => manager.state(key).phase)).toEqual(keys.map(() => 'done'));
});

it('one request a second asks for all jobs', async () => {
  const many = Array.from({ length: 5 }, (_, at) =>
    table(`<search><query>index=i${at}</query></search>`),
  );
  const { manager, keys } = open(many.join(''));
  for (const key of keys) manager.watch(key);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(server.statusRequests).toBeLessThanOrEqual(11);
  expect(server.statusRequests).toBeGreaterThan(5);
});

it('jobs of a page that is left are cancelled, and those that ended are kept', async () => {
  const { manager, keys } = open(
    table('<search><query>index=a</query></search>') +
      table('<search><query>index=b</query></search>'),
  );
  for (const key of keys) manager.watch(key);
  await vi.advanceTimersByTimeAsync(50);
  server.done.add(server.created[0]?.sid ?? '');
  await settle();
  manager.dispose();
  expect(server.cancelled).toEqual([server.created[1]?.sid]);
});

it('a hidden search with handlers runs, a hidden plain one does not', async () => {
  open(
    `<search><query>index=handled</query><done><set token="t">1</set></done></search>
     <search id="idle"><query>index=idle</query></search>
     <search depends="$never$"><query>index=never</query><done><set token="t">1</set></done></search>`,
  );
  await settle();
  expect(server.texts).toEqual(['index=handled']);
});

it('a report runs with its own range in its own app', async () => {
  const { manager, keys } = open(table('<search ref="R"></search>'));
  manager.watch(keys[0] ?? '');
  await settle();
  expect(server.created[0]).toMatchObject({ search: 'index=r', earliest: '-1h', app: 'other' });
  expect(manager.state(keys[0] ?? '').display?.size).toBe(1);
});

it('is refreshed after its delay, and not while nobody looks', async () => {
  const { manager, keys } = open(
    table(
      '<search><query>index=a</query><refresh>30s</refresh><refreshType>delay</refreshType></search>',
    ),
  );
  manager.watch(keys[0] ?? '');
  await vi.advanceTimersByTimeAsync(10);
  server.finish();
  await settle();
  await vi.advanceTimersByTimeAsync(30_000);
  expect(server.created).toHaveLength(2);
  // Rows stay while the next run is under way.
  expect(manager.state(keys[0] ?? '')).toMatchObject({ rows: ROWS, isStale: true });
  server.finish();
  await settle();
  manager.pause(true);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(server.created).toHaveLength(2);
});

it.each([
  ['index=a', 'stats count', 'index=a | stats count'],
  ['index=a', '| sort x', 'index=a | sort x'],
  ['index=a', '', 'index=a'],
  ['index=x |', 'stats count |', 'index=x | stats count'],
])('%s and %s are one text', (base, rest, text) => expect(joined(base, rest)).toBe(text));

it('links of a chain that end with a pipe are one text', () =>
  expect(pipeline(['stats count |', '| head 5 |', '|'])).toBe('| stats count | head 5'));

it('another version of the dashboard runs again only what has another text', async () => {
  const { manager, keys } = open(
    table('<search><query>index=a</query></search>') +
      table('<search><query>index=b</query></search>') +
      table('<search><query>index=c</query></search>'),
  );
  for (const key of keys) manager.watch(key);
  await settle();
  server.finish();
  await settle();
  const next = readDashboard(
    `<dashboard>${table('<search><query>index=a</query></search>')}${table('<search><query>index=x</query></search>')}</dashboard>`,
  );
  manager.replace(allSearches(next));
  await settle();
  expect(server.texts).toEqual(['index=a', 'index=b', 'index=c', 'index=x']);
  expect(manager.state(keys[0] ?? '').phase).toBe('done');
  // The rows of before stay until the new ones are there.
  expect(manager.state(keys[1] ?? '')).toMatchObject({ phase: 'running', rows: ROWS });
  expect(manager.state(keys[2] ?? '').phase).toBe('idle');
});

/** A server that tells of the jobs of the page as they begin and end. */
class StreamingServer extends Server {
  streams = 0;
  #tell: (sid: string, content: object) => void = () => {};

  override async createJob(spec: JobSpec): Promise<string> {
    const sid = await super.createJob(spec);
    if (spec.statusStream !== undefined) this.#tell(sid, { dispatchState: 'RUNNING' });
    setTimeout(() => this.#tell(sid, { dispatchState: 'DONE', isDone: true }), 300);
    return sid;
  }
  async stream(sids: string[], _name: string | null, signal: AbortSignal) {
    this.streams += 1;
    const ready = [{ type: '', data: '' }];
    let wake = () => {};
    this.#tell = (sid, content) => {
      ready.push({ type: 'status', data: JSON.stringify({ sid, content }) });
      wake();
    };
    for (const sid of sids) this.#tell(sid, { dispatchState: 'RUNNING' });
    signal.addEventListener('abort', () => wake());
    return (async function* () {
      while (!signal.aborted) {
        yield* ready.splice(0);
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    })();
  }
}

it('twenty panels need one stream and no request for their status', async () => {
  const streaming = new StreamingServer();
  server = streaming;
  const many = Array.from({ length: 20 }, (_, at) =>
    table(`<search><query>index=i${at}</query></search>`),
  );
  const dashboard = readDashboard(`<dashboard>${many.join('')}</dashboard>`);
  const searches = allSearches(dashboard);
  const feed = { mayStream: () => true };
  const manager = new SearchManager(searches, { server, tokens, app: 'a', timezone: 'UTC', feed });
  for (const { key } of searches) manager.watch(key);
  await vi.advanceTimersByTimeAsync(2_000);
  // Six at a time, each 300 ms: a request a second would have needed four seconds.
  expect(manager.progress()).toEqual({ done: 20, all: 20 });
  expect([streaming.streams, server.statusRequests]).toEqual([1, 0]);
  manager.dispose();
});

/** A server whose stream can be cut. It tells of jobs once, also of those that are gone. */
class CutServer extends Server {
  cut = () => {};

  async stream(sids: string[]) {
    const isCut = new Promise<void>((resolve) => {
      this.cut = resolve;
    });
    const events = sids.map((sid) => ({
      type: this.lost.has(sid) ? 'gone' : 'status',
      data: JSON.stringify({ sid, content: { dispatchState: 'RUNNING' } }),
    }));
    return (async function* () {
      yield* events;
      await isCut;
    })();
  }
}

it('a search whose job a quick restart has ended, which only cuts the stream, runs again', async () => {
  const cutServer = new CutServer();
  server = cutServer;
  const xml = table('<search><query>index=a</query></search>');
  const { manager, keys } = open(xml, { mayStream: () => true });
  manager.watch(keys[0] ?? '');
  await settle();
  server.lost.add('job_0');
  cutServer.cut();
  await settle();
  expect(server.texts).toEqual(['index=a', 'index=a']);
  expect(manager.state(keys[0] ?? '').phase).toBe('running');
  expect(server.statusRequests).toBe(0);
  manager.dispose();
});

it('a search that is done at its first status has had progress, as has one that is based on it', async () => {
  const heard: string[] = [];
  const xml = `<search id="b"><query>index=a</query></search>${table(
    '<search base="b"><query>| head 1</query></search>',
  )}`;
  const { manager, keys } = open(xml, {}, (search, event, state) => {
    heard.push(`${search.source.kind} ${event} ${state.rows?.rows.length}`);
  });
  manager.watch(keys[0] ?? '');
  await vi.advanceTimersByTimeAsync(0);
  server.finish();
  await settle();
  expect(heard).toEqual(['query progress 1', 'query done 1', 'base progress 1', 'base done 1']);
});

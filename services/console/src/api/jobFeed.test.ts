import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { ApiError } from './errors';
import { readEvents, type ServerEvent } from './eventStream';
import { JobFeed, type JobFeedOptions } from './jobFeed';
import type { JobStatus } from './types';

const AWAY = new ApiError('unreachable', 0, [{ type: 'ERROR', text: 'away' }]);

/** A stream that is open: what is pushed arrives. */
class Channel {
  readonly sids: string[];
  isClosed = false;
  readonly #waiting: (ServerEvent | null)[] = [];
  #wake: () => void = () => {};

  constructor(sids: string[], signal: AbortSignal) {
    this.sids = sids;
    signal.addEventListener('abort', () => {
      this.isClosed = true;
      this.#wake();
    });
  }
  push(type: string, data: object = {}): void {
    this.#waiting.push({ type, data: JSON.stringify(data) });
    this.#wake();
  }
  status(sid: string, content: object): void {
    this.push('status', { sid, content });
  }
  end(): void {
    this.#waiting.push(null);
    this.#wake();
  }
  async *[Symbol.asyncIterator](): AsyncGenerator<ServerEvent> {
    for (;;) {
      if (this.isClosed) throw new DOMException('left', 'AbortError');
      const event = this.#waiting.shift();
      if (event === null) return;
      if (event) yield event;
      else
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
    }
  }
}

/** What a server does, and what it was asked for. */
class Server {
  readonly channels: Channel[] = [];
  readonly requests: number[] = [];
  polls = 0;
  /** What jobs are when they are asked for; a job that is not in it is gone. */
  known = new Map<string, object>();
  refusal: unknown = null;
  isAway = false;
  /** Whether a stream brings anything by itself. */
  isBuffered = false;

  get last(): Channel {
    return this.channels.at(-1) as Channel;
  }
  async jobs(sids: string[]): Promise<Map<string, JobStatus>> {
    this.requests.push(Date.now());
    this.polls += 1;
    if (this.isAway) throw AWAY;
    const found = sids.filter((sid) => this.known.has(sid));
    return new Map(found.map((sid) => [sid, { ...STATUS, ...this.known.get(sid) }]));
  }
  async stream(sids: string[], _name: string | null, signal: AbortSignal) {
    this.requests.push(Date.now());
    if (this.refusal !== null) throw this.refusal;
    const channel = new Channel(sids, signal);
    this.channels.push(channel);
    if (!this.isBuffered) {
      channel.push('');
      for (const sid of sids) channel.status(sid, this.known.get(sid) ?? RUNNING);
    }
    return channel;
  }
}

const RUNNING = { dispatchState: 'RUNNING', doneProgress: 0.5 };
const DONE = { dispatchState: 'DONE', isDone: true };
const STATUS = {
  ...{ isDone: false, isFailed: false, isFinalized: false, isPaused: false, isPartial: false },
  ...{ isSaved: false, eventIsTruncated: false, dispatchState: 'RUNNING', doneProgress: 0 },
  ...{ eventCount: 0, eventAvailableCount: 0, scanCount: 0, resultCount: 0, numPreviews: 0 },
  ...{ resultPreviewCount: 0, runDuration: 0, earliestTime: '', latestTime: '', ttl: 600 },
  ...{ reportSearch: null, messages: [] },
} satisfies JobStatus;

let server: Server;
let told: string[];
let failures: number[];
let isHidden: boolean;
let look: () => void;
const feeds: JobFeed[] = [];

function open(more: Partial<JobFeedOptions> = {}): JobFeed {
  const feed = new JobFeed({
    source: server,
    name: 'page',
    mayStream: () => true,
    visibility: {
      isHidden: () => isHidden,
      subscribe: (listener) => {
        look = listener;
        return () => {};
      },
    },
    onStatus: (sid, status) => told.push(`${sid} ${status?.dispatchState ?? 'gone'}`),
    onTrouble: (_error, count) => failures.push(count),
    ...more,
  });
  feeds.push(feed);
  return feed;
}

const wait = (milliseconds: number) => vi.advanceTimersByTimeAsync(milliseconds);

/** The most requests in any second. */
function busiestSecond(): number {
  const within = (from: number) =>
    server.requests.filter((at) => at >= from && at < from + 1_000).length;
  return Math.max(0, ...server.requests.map(within));
}

beforeEach(() => {
  vi.useFakeTimers();
  server = new Server();
  told = [];
  failures = [];
  isHidden = false;
});
afterEach(() => {
  for (const feed of feeds.splice(0)) feed.dispose();
  vi.useRealTimers();
});

it('one stream tells of all jobs that start together', async () => {
  const feed = open();
  for (const sid of ['a', 'b', 'c']) feed.follow(sid);
  await wait(200);
  expect(server.channels.map(({ sids }) => sids)).toEqual([['a', 'b', 'c']]);
  server.last.status('b', DONE);
  await wait(1);
  expect(told).toEqual(['a RUNNING', 'b RUNNING', 'c RUNNING', 'b DONE']);
  expect(server.requests).toHaveLength(1);
});

it('a job that joins the stream at the server needs no request, even if its status comes first', async () => {
  const feed = open();
  feed.follow('a');
  await wait(200);
  server.last.status('late', RUNNING);
  await wait(5);
  expect(told).toEqual(['a RUNNING']);
  feed.follow('late');
  await wait(3_000);
  expect(told).toEqual(['a RUNNING', 'late RUNNING']);
  expect(server.requests).toHaveLength(1);
});

it('a job of which the stream does not know is named by opening the stream again, once a second', async () => {
  const feed = open();
  feed.follow('a');
  await wait(200);
  for (const sid of ['b', 'c', 'd', 'e']) {
    feed.follow(sid);
    await wait(400);
  }
  await wait(5_000);
  expect(server.last.sids).toEqual(['a', 'b', 'c', 'd', 'e']);
  expect(server.channels.filter(({ isClosed }) => !isClosed)).toHaveLength(1);
  expect(server.polls).toBe(0);
  expect(busiestSecond()).toBe(1);
});

it('a stream that is refused is replaced by one request a second, and tried again later', async () => {
  server.refusal = new ApiError('busy', 429, []);
  server.known.set('a', RUNNING);
  open().follow('a');
  await wait(5_000);
  expect(told[0]).toBe('a RUNNING');
  expect(server.polls).toBeGreaterThanOrEqual(3);
  server.refusal = null;
  await wait(10_000);
  expect(server.channels).toHaveLength(1);
  const { polls } = server;
  for (let second = 0; second < 5; second += 1) {
    server.last.status('a', RUNNING);
    await wait(1_000);
  }
  expect(server.polls).toBe(polls);
  expect(busiestSecond()).toBe(1);
});

it('a server without the stream is not asked for it again', async () => {
  const stream = vi.spyOn(server, 'stream');
  server.refusal = new ApiError('notFound', 404, []);
  server.known.set('a', RUNNING);
  open().follow('a');
  await wait(600_000);
  expect(stream).toHaveBeenCalledTimes(1);
});

it('a proxy that keeps the events back does not keep the page waiting', async () => {
  server.isBuffered = true;
  server.known.set('a', RUNNING);
  open().follow('a');
  await wait(2_000);
  expect(told[0]).toBe('a RUNNING');
  server.known.set('a', DONE);
  await wait(2_000);
  expect(told.at(-1)).toBe('a DONE');
  expect(server.last.isClosed).toBe(true);
  expect(busiestSecond()).toBe(1);
});

it('a stream that falls silent is found out by a request', async () => {
  server.known.set('a', RUNNING);
  open().follow('a');
  await wait(200);
  server.known.set('a', DONE);
  await wait(6_000);
  expect(told).toEqual(['a RUNNING', 'a DONE']);
  expect(server.last.isClosed).toBe(true);
});

it('a queued job may be silent for long', async () => {
  server.known.set('a', { dispatchState: 'QUEUED' });
  open().follow('a');
  await wait(30_000);
  expect(server.channels).toHaveLength(1);
  expect(server.last.isClosed).toBe(false);
  expect(server.polls).toBeLessThanOrEqual(6);
});

it('a stream that is cut is opened again with what still runs', async () => {
  const feed = open();
  feed.follow('a');
  feed.follow('b');
  await wait(200);
  server.last.status('a', DONE);
  await wait(2_000);
  server.last.end();
  await wait(1_100);
  expect(server.channels.map(({ sids }) => sids)).toEqual([['a', 'b'], ['b']]);
  expect(busiestSecond()).toBe(1);
});

it('a cut of a stream is told before what the next one says, the end and silence of one are not', async () => {
  const feed = open({ onCut: () => told.push('cut') });
  feed.follow('a');
  await wait(200);
  server.last.end();
  await wait(1_100);
  server.last.push('gone', { sid: 'a' });
  await wait(1);
  expect(told).toEqual(['a RUNNING', 'cut', 'a RUNNING', 'a gone']);
  feed.follow('b');
  await wait(1_100);
  server.last.status('b', DONE);
  server.last.push('end', { reason: 'done' });
  await wait(1);
  server.known.set('c', RUNNING);
  feed.follow('c');
  await wait(1_100);
  server.known.set('c', DONE);
  await wait(6_000);
  feed.dispose();
  expect(told.slice(4)).toEqual(['b RUNNING', 'b DONE', 'c RUNNING', 'c DONE']);
});

it('streams that are cut again and again are tried less and less', async () => {
  server.known.set('a', RUNNING);
  open().follow('a');
  for (let second = 0; second < 120; second += 1) {
    await wait(1_000);
    server.channels.at(-1)?.end();
  }
  expect(server.channels.length).toBeLessThan(8);
  expect(server.polls).toBeGreaterThan(80);
  expect(busiestSecond()).toBe(1);
});

it('a job that has expired is said to be gone, by the stream and by a request', async () => {
  const feed = open();
  feed.follow('a');
  await wait(200);
  server.last.push('gone', { sid: 'a' });
  await wait(1);
  expect(told.at(-1)).toBe('a gone');
  server.refusal = AWAY;
  server.last.end();
  feed.follow('b');
  await wait(5_000);
  expect(told.at(-1)).toBe('b gone');
});

it('a stream that the server ends with its last job is no failure', async () => {
  const feed = open();
  feed.follow('a');
  await wait(200);
  server.last.status('a', DONE);
  server.last.push('end', { reason: 'done' });
  await wait(30_000);
  expect(server.requests).toHaveLength(1);
  feed.follow('b');
  await wait(200);
  expect(server.last.sids).toEqual(['b']);
  expect(told.at(-1)).toBe('b RUNNING');
});

it('a stream on which nothing ran for a while is still good for the next search', async () => {
  const feed = open();
  feed.follow('a');
  await wait(200);
  server.last.status('a', DONE);
  await wait(14_000);
  feed.follow('b');
  await wait(300);
  server.last.status('b', RUNNING);
  await wait(4_000);
  expect(told).toEqual(['a RUNNING', 'a DONE', 'b RUNNING']);
  expect(server.requests).toHaveLength(1);
});

it('a hidden page has no stream, and asks every ten seconds', async () => {
  server.known.set('a', RUNNING);
  open().follow('a');
  await wait(2_000);
  isHidden = true;
  look();
  await wait(1);
  expect(server.last.isClosed).toBe(true);
  await wait(29_000);
  expect(server.polls).toBeLessThanOrEqual(3);
  server.known.set('a', { ...RUNNING, numPreviews: 1 });
  isHidden = false;
  look();
  await wait(1_100);
  expect(server.channels).toHaveLength(2);
  expect(server.last.isClosed).toBe(false);
});

it('over HTTP/1.1 the page asks once a second', async () => {
  server.known.set('a', RUNNING);
  open({ mayStream: () => false }).follow('a');
  await wait(10_000);
  expect(server.channels).toHaveLength(0);
  expect(server.polls).toBeGreaterThan(8);
  expect(busiestSecond()).toBe(1);
});

it('requests that fail in a row are counted, and one that succeeds ends the count', async () => {
  server.isAway = true;
  server.known.set('a', RUNNING);
  open({ mayStream: () => false }).follow('a');
  await wait(3_500);
  expect(failures).toEqual([1, 2, 3, 4]);
  server.isAway = false;
  await wait(1_000);
  server.isAway = true;
  await wait(1_000);
  expect(failures.at(-1)).toBe(1);
});

it('progress is told once a second, a preview or the end at once', async () => {
  open().follow('a');
  await wait(200);
  server.last.status('a', { ...RUNNING, doneProgress: 0.6 });
  await wait(100);
  server.last.status('a', { ...RUNNING, doneProgress: 0.7 });
  await wait(100);
  expect(told).toHaveLength(1);
  server.last.status('a', { ...RUNNING, numPreviews: 1 });
  await wait(1);
  expect(told).toHaveLength(2);
  await wait(900);
  server.last.status('a', { ...RUNNING, numPreviews: 1, doneProgress: 0.8 });
  await wait(1);
  expect(told).toHaveLength(3);
});

it('nothing is said after it was left, and the stream is closed', async () => {
  const feed = open();
  feed.follow('a');
  feed.follow('b');
  await wait(200);
  feed.unfollow('a');
  server.last.status('a', DONE);
  await wait(1);
  expect(told).toEqual(['a RUNNING', 'b RUNNING']);
  feed.dispose();
  await wait(20_000);
  expect(server.last.isClosed).toBe(true);
  expect(server.requests).toHaveLength(1);
});

it('events are read wherever the text is cut', async () => {
  const text =
    'retry: 3000\n: open\n\nevent: status\ndata: {"sid":"ä"}\n\n: alive\n\nevent: end\nda';
  const bytes = new TextEncoder().encode(text);
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  const events: ServerEvent[] = [];
  for await (const event of readEvents(new Response(body))) events.push(event);
  expect(events).toEqual([
    { type: '', data: '' },
    { type: 'status', data: '{"sid":"ä"}' },
    { type: '', data: '' },
  ]);
});

/**
 * The status of the jobs of one page: one stream for all of them, or, where it cannot be had, one request for all of
 * them now and then.
 *
 * Guarantees: whether the stream is opened or jobs are asked for, at most one request a second (or as `pace` says);
 * nothing is said of a job that is not followed, and nothing after its end. Leaves what a status means, and how
 * long a server may be away, to its owner.
 *
 * The stream names the jobs that are known when it is opened. A job that is started with the name of the stream
 * joins it at the server; one that is not heard of in time (another search head has it) is named by opening the
 * stream again.
 */

import { asObject, decodeJob } from './decode';
import { ApiError } from './errors';
import type { ServerEvent } from './eventStream';
import type { JobStatus } from './types';

/** Where statuses come from. */
export interface JobSource {
  /** The state of jobs, in one request; those that are gone are missing. */
  jobs(sids: string[]): Promise<Map<string, JobStatus>>;
  /** Opens the stream; fails with an `ApiError` where the server refuses it. */
  stream?(
    sids: string[],
    name: string | null,
    signal: AbortSignal,
  ): Promise<AsyncIterable<ServerEvent>>;
}

export interface JobFeedOptions {
  source: JobSource;
  /** A status of a job; null: the job is gone. */
  onStatus: (sid: string, status: JobStatus | null) => void;
  /** A request for statuses has failed, for the how manyth time in a row. */
  onTrouble: (error: unknown, failures: number) => void;
  /** A stream that had brought something was cut: the server may have restarted, or another one answers now. */
  onCut?: () => void;
  /** The name with which more jobs of the page are started; null if there are none. */
  name: string | null;
  /** Milliseconds before a request for statuses, of those for the jobs that are followed; 0: the first one. */
  pace?: (request: number) => number;
  /** Whether the page may keep a connection busy. */
  mayStream?: () => boolean;
  visibility?: Visibility;
}

/** Whether somebody looks at the page. */
export interface Visibility {
  isHidden: () => boolean;
  subscribe: (listener: () => void) => () => void;
}

const SECOND = 1_000;
/** Before the first request: jobs that start together are named together. */
const GATHER = 120;
/** Between two requests of a hidden page. Its searches go on and have to be fetched, but nobody waits for them. */
const HIDDEN_EVERY = 10_000;
/** How long an opened stream may bring nothing: the server's first bytes come at once, unless a proxy keeps them. */
const FIRST_BYTES = 3_000;
/** How long a new job may be missing from the stream. */
const HEARD_WITHIN = 1_000;
/** After this silence one request looks whether the stream has missed something. A job that runs is told of once a
 * second, one that waits for its turn is not. */
const SILENCE = 5_000;
/** How long there is no stream after one that failed; doubled with each failure in a row. */
const FIRST_RETRY = 10_000;
/** A stream that still brings something after this time works: those that failed before it are forgotten. */
const PROVEN = 10_000;
const LAST_RETRY = 300_000;
/** Statuses of jobs whose id the page does not know yet: they overtake the answer that has it. */
const MAX_EARLY = 100;

/**
 * Over HTTP/1.1 a browser has six connections to a server, for all of its tabs together: six pages with a stream
 * would leave none for the rows. Over HTTP/2 a stream costs no connection.
 */
export function isMultiplexed(): boolean {
  const entries = ['navigation', 'resource'].flatMap((kind) => performance.getEntriesByType(kind));
  const protocols = (entries as PerformanceResourceTiming[])
    .filter(({ name }) => new URL(name, location.href).origin === location.origin)
    // Empty for what came from the browser's cache.
    .map(({ nextHopProtocol }) => nextHopProtocol)
    .filter((protocol) => protocol !== '');
  return protocols.length > 0 && protocols.every((protocol) => /^h[23]/.test(protocol));
}

const PAGE: Visibility = {
  isHidden: () => typeof document !== 'undefined' && document.hidden,
  subscribe(listener) {
    if (typeof document === 'undefined') return () => {};
    document.addEventListener('visibilitychange', listener);
    return () => document.removeEventListener('visibilitychange', listener);
  },
};

interface Followed {
  since: number;
  /** Whether the stream was opened with it, or has told of it. */
  isCovered: boolean;
  /** What the owner knows, and since when. */
  passed: JobStatus | null;
  passedAt: number;
}

/** A stream that is open or being opened. */
interface Stream {
  controller: AbortController;
  /** Whether something has arrived. */
  isAlive: boolean;
  openedAt: number;
  heardAt: number;
}

export class JobFeed {
  readonly name: string | null;
  readonly #options: JobFeedOptions;
  readonly #followed = new Map<string, Followed>();
  readonly #early = new Map<string, JobStatus>();
  readonly #visibility: Visibility;
  readonly #unsubscribe: () => void;
  #stream: Stream | null = null;
  #isAsking = false;
  #timer: ReturnType<typeof setTimeout> | null = null;
  /** Since the first of the jobs that are followed. */
  #requests = 0;
  #firstAt = 0;
  #requestedAt = Number.NEGATIVE_INFINITY;
  #failures = 0;
  /** Streams that failed in a row, and from when on another one is tried. */
  #lost = 0;
  #streamAt = 0;
  #isDisposed = false;

  constructor(options: JobFeedOptions) {
    this.#options = options;
    this.name = options.name;
    this.#visibility = options.visibility ?? PAGE;
    this.#unsubscribe = this.#visibility.subscribe(() => this.#look());
  }

  follow(sid: string): void {
    if (this.#isDisposed || this.#followed.has(sid)) return;
    if (this.#followed.size === 0) {
      this.#begin();
      // While nothing ran, there was nothing to tell.
      if (this.#stream) this.#stream.heardAt = Date.now();
    }
    const job: Followed = { since: Date.now(), isCovered: false, passed: null, passedAt: 0 };
    this.#followed.set(sid, job);
    const early = this.#early.get(sid);
    this.#early.delete(sid);
    if (early) {
      job.isCovered = true;
      // Later, as all others: whoever follows a job may not be ready for its status yet.
      queueMicrotask(() => this.#tell(sid, early));
    }
    this.#plan();
  }

  unfollow(sid: string): void {
    this.#followed.delete(sid);
  }

  /** Asks soon, as somebody has just changed something. An open stream tells of it anyway. */
  refresh(): void {
    this.#begin();
    this.#plan();
  }

  dispose(): void {
    this.#isDisposed = true;
    this.#unsubscribe();
    this.#followed.clear();
    this.#close();
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  // -- what is next

  #look(): void {
    if (this.#visibility.isHidden()) this.#close();
    this.#plan();
  }

  #begin(): void {
    this.#requests = 0;
    this.#firstAt = Date.now() + this.#pace(0);
  }

  #pace(request: number): number {
    return this.#options.pace?.(request) ?? (request === 0 ? GATHER : SECOND);
  }

  /** When the next request is due; null if there is nothing to ask. */
  #due(): number | null {
    if (this.#isDisposed || this.#followed.size === 0 || this.#isAsking) return null;
    const isHidden = this.#visibility.isHidden();
    const usual = this.#options.pace ? this.#pace(this.#requests) : SECOND;
    const distance = isHidden ? HIDDEN_EVERY : usual;
    const next = Math.max(this.#requestedAt + distance, this.#requests === 0 ? this.#firstAt : 0);
    const stream = this.#stream;
    if (!stream?.isAlive) return next;
    const missing = [...this.#followed.values()].filter((job) => !job.isCovered);
    const heardBy = Math.min(...missing.map((job) => job.since + HEARD_WITHIN));
    return Math.max(next, Math.min(heardBy, stream.heardAt + SILENCE));
  }

  #plan(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const due = this.#due();
    if (due === null) return;
    this.#timer = setTimeout(
      () => {
        this.#timer = null;
        this.#request();
      },
      Math.max(0, due - Date.now()),
    );
  }

  #request(): void {
    const now = Date.now();
    this.#requestedAt = now;
    this.#requests += 1;
    const stream = this.#stream;
    const missesOne = [...this.#followed.values()].some((job) => !job.isCovered);
    if (this.#mayStream(now) && (stream === null || (stream.isAlive && missesOne))) this.#open(now);
    // A stream that has brought nothing yet, or nothing for a while, may be one that never will.
    else void this.#ask();
    this.#plan();
  }

  #mayStream(now: number): boolean {
    if (!this.#options.source.stream || now < this.#streamAt) return false;
    return !this.#visibility.isHidden() && (this.#options.mayStream ?? isMultiplexed)();
  }

  // -- the stream

  #open(now: number): void {
    this.#close();
    const controller = new AbortController();
    const stream: Stream = { controller, isAlive: false, openedAt: now, heardAt: now };
    this.#stream = stream;
    for (const job of this.#followed.values()) job.isCovered = true;
    const patience = setTimeout(() => {
      // Headers may have come: a proxy keeps the events.
      if (this.#stream === stream && !stream.isAlive) this.#lose(stream, null);
    }, FIRST_BYTES);
    this.#read(stream)
      .catch((error) => this.#lose(stream, error))
      .finally(() => clearTimeout(patience));
  }

  async #read(stream: Stream): Promise<void> {
    const { signal } = stream.controller;
    const events = await this.#options.source.stream?.(
      [...this.#followed.keys()],
      this.name,
      signal,
    );
    for await (const event of events ?? []) {
      if (this.#stream !== stream) return;
      stream.isAlive = true;
      stream.heardAt = Date.now();
      if (stream.heardAt - stream.openedAt > PROVEN) this.#lost = 0;
      if (event.type === 'end' && event.data.includes('"done"')) {
        this.#lost = 0;
        this.#close();
        break;
      }
      this.#event(event);
      this.#plan();
    }
    if (this.#stream === stream) this.#lose(stream, null);
    else this.#plan();
  }

  #event({ type, data }: ServerEvent): void {
    if (type === 'status') {
      const event = asObject(JSON.parse(data));
      const sid = String(event.sid);
      const status = decodeJob({ content: event.content });
      this.#failures = 0;
      const job = this.#followed.get(sid);
      if (job) {
        job.isCovered = true;
        this.#tell(sid, status);
        return;
      }
      this.#early.set(sid, status);
      const [oldest] = this.#early.keys();
      if (this.#early.size > MAX_EARLY && oldest !== undefined) this.#early.delete(oldest);
    } else if (type === 'gone') {
      this.#tell(String(asObject(JSON.parse(data)).sid), null);
    }
  }

  #close(): void {
    const stream = this.#stream;
    this.#stream = null;
    stream?.controller.abort();
  }

  /** Goes on without a stream for a while. One that had brought something is opened again at once, the first time. */
  #lose(stream: Stream, error: unknown): void {
    if (this.#stream !== stream || this.#isDisposed) return;
    this.#close();
    this.#lost += 1;
    const doubled = FIRST_RETRY * 2 ** Math.min(this.#lost - 1, 10);
    const isCut = stream.isAlive && this.#lost === 1;
    // A server of an older version has none.
    const isUnknown = error instanceof ApiError && error.kind === 'notFound';
    const wait = isUnknown ? Number.POSITIVE_INFINITY : Math.min(doubled, LAST_RETRY);
    this.#streamAt = isCut ? 0 : Date.now() + wait;
    if (stream.isAlive) this.#options.onCut?.();
    this.#plan();
  }

  // -- requests for all jobs

  async #ask(): Promise<void> {
    const stream = this.#stream;
    const asked = [...this.#followed.keys()];
    this.#isAsking = true;
    try {
      const found = await this.#options.source.jobs(asked);
      this.#isAsking = false;
      this.#failures = 0;
      if (this.#isDisposed) return;
      if (stream?.isAlive && stream === this.#stream) {
        // What the stream should have said shows that it does not bring everything.
        stream.heardAt = Date.now();
        if (asked.some((sid) => this.#isMissed(sid, found.get(sid)))) this.#stall(stream);
      }
      // Not jobs that are followed since: nobody has asked for them.
      for (const sid of asked) this.#tell(sid, found.get(sid) ?? null);
    } catch (error) {
      this.#isAsking = false;
      this.#failures += 1;
      if (!this.#isDisposed) this.#options.onTrouble(error, this.#failures);
    }
    this.#plan();
  }

  #isMissed(sid: string, found: JobStatus | undefined): boolean {
    const passed = this.#followed.get(sid)?.passed;
    return passed != null && (!found || found.isDone || isOther(passed, found));
  }

  /** A stream that brings nothing counts as failed even if it had brought something. */
  #stall(stream: Stream): void {
    stream.isAlive = false;
    this.#lose(stream, null);
  }

  /** Hands a status on: what is new at once, mere progress once a second, as pages draw more for each. */
  #tell(sid: string, status: JobStatus | null): void {
    const job = this.#followed.get(sid);
    if (!job) return;
    const now = Date.now();
    const isOver = status === null || status.isDone || status.isFailed;
    if (isOver) this.#followed.delete(sid);
    else if (!isOther(job.passed, status) && now - job.passedAt < SECOND - GATHER) return;
    job.passed = status;
    job.passedAt = now;
    this.#options.onStatus(sid, status);
  }
}

function isOther(before: JobStatus | null, now: JobStatus): boolean {
  return (
    before === null ||
    before.dispatchState !== now.dispatchState ||
    before.numPreviews !== now.numPreviews ||
    before.messages.length !== now.messages.length
  );
}

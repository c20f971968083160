/**
 * The searches of one page, outside of React: which run, which wait for a token or for their turn, and what they
 * found. Searches with the same text, range and app share a job; those with a base are computed from its results.
 * Guarantees: at most `MAX_RUNNING` jobs of the page run at a time, fewer where the server takes fewer, in the
 * order of the page; one stream tells of the progress of all of them, or one request a second; jobs nobody looks at
 * any more are cancelled; what failed while the server was away runs again once it is back. A search that may change
 * something never runs again by itself: it may have had its effect.
 */

import { ApiError } from '../../api/client';
import { JobFeed, type JobFeedOptions } from '../../api/jobFeed';
import type { JobStatus, ResultRows } from '../../api/types';
import { surelyReads } from '../../query/writes';
import type { Options, Search, SearchEventName } from '../model/types';
import { secondsOf } from '../model/values';
import { bounds, joined, pipeline } from './searchText';
import type { ReportSpec, SearchServer } from './server';
import { isAway, ServerWatch } from './serverWatch';
import { isShown, substitute, type TokenStore } from './tokens';

/** Jobs of a page that run at a time. */
export const MAX_RUNNING = 6;
/** Rows that are fetched of a result; what is more is said to be. */
export const MAX_ROWS = 10_000;
/** Milliseconds between two previews of a search. */
const PREVIEW_EVERY = 2_000;
/** Milliseconds after which a search is sent again that the server had no place for. */
const BUSY_WAIT = 1_000;
/** Requests for progress that may fail in a row while the server is away. */
const PATIENCE = 8;
/** How often in a row a search runs again by itself: a proxy's time-out fails like a server that is away. */
const MOST_REVIVALS = 2;

export type SearchPhase =
  | 'idle'
  | 'waiting'
  | 'queued'
  | 'running'
  | 'done'
  | 'failed'
  | 'cancelled';

export interface SearchState {
  phase: SearchPhase;
  /** While it is queued: whether other searches of the page or of the user run first. */
  isHeld: boolean;
  /** Tokens that it waits for. */
  missing: string[];
  rows: ResultRows | null;
  /** Rows of an unfinished search. */
  isPreview: boolean;
  /** Rows of the run before, while the next one runs. */
  isStale: boolean;
  job: JobStatus | null;
  sid: string | null;
  error: ApiError | null;
  /** The text and range that ran, for the search page. */
  ran: { search: string; earliest: string; latest: string; app: string } | null;
  /** Of a report: how it looks by itself. */
  display: Options | null;
  /** Milliseconds since the epoch. */
  updated: number | null;
}

export const IDLE: SearchState = {
  phase: 'idle',
  isHeld: false,
  missing: [],
  rows: null,
  isPreview: false,
  isStale: false,
  job: null,
  sid: null,
  error: null,
  ran: null,
  display: null,
  updated: null,
};

export type SearchListener = (search: Search, event: SearchEventName, state: SearchState) => void;

export interface ManagerOptions {
  server: SearchServer;
  tokens: TokenStore;
  app: string;
  timezone: string;
  /** What asks, for the audit trail. */
  provenance?: string | undefined;
  /** Hears of what handlers of searches react to. */
  onEvent?: SearchListener;
  /** How statuses come, where it is not as in a browser. */
  feed?: Pick<JobFeedOptions, 'mayStream' | 'visibility'>;
}

interface Job {
  key: string;
  spec: { app: string; search: string; earliest: string; latest: string };
  order: number;
  sid: string | null;
  phase: 'queued' | 'starting' | 'running' | 'done' | 'failed' | 'cancelled';
  status: JobStatus | null;
  error: ApiError | null;
  users: Set<Node>;
  previews: number;
  previewAt: number;
  /** Whether the server was away since its last status: a restart ends jobs. */
  mayBeLost: boolean;
  /** How often it was lost, and has begun again. */
  losses: number;
}

interface Node {
  search: Search;
  order: number;
  /** How many elements show it; one that nobody shows may run for others. */
  watchers: number;
  state: SearchState;
  listeners: Set<() => void>;
  /** Of a search with a job of its own. */
  job: Job | null;
  /** What was resolved last: another text or range starts again. */
  resolved: string | null;
  /** Tells answers to an earlier run apart. */
  run: number;
  isDoneTold: boolean;
  timer: ReturnType<typeof setTimeout> | null;
  /** How often it has run again by itself since it was done last. */
  revivals: number;
  postProcess: string | null;
  /** Whether the rows are all, or the first one for handlers. */
  isWhole: boolean;
}

export class SearchManager {
  readonly #options: ManagerOptions;
  readonly #nodes = new Map<string, Node>();
  readonly #byId = new Map<string, Node>();
  readonly #jobs = new Map<string, Job>();
  readonly #reports = new Map<string, Promise<ReportSpec>>();
  readonly #listeners = new Set<() => void>();
  readonly #feed: JobFeed;
  /** Jobs that run at a time; fewer than `MAX_RUNNING` once the server has refused one. */
  #most = MAX_RUNNING;
  #busyTimer: ReturnType<typeof setTimeout> | null = null;
  readonly #watch: ServerWatch | null;
  #isDisposed = false;
  #isPaused = false;
  #version = 0;
  readonly #unsubscribe: () => void;

  constructor(searches: Search[], options: ManagerOptions) {
    this.#options = options;
    this.#feed = new JobFeed({
      ...options.feed,
      source: options.server,
      name: randomName(),
      onStatus: (sid, status) => this.#told(sid, status),
      onTrouble: (error, failures) => this.#trouble(error, failures),
      onCut: () => this.#doubt(),
    });
    const { server } = options;
    this.#watch = server.ping
      ? new ServerWatch({
          ping: () => server.ping?.() ?? Promise.resolve(),
          isPaused: () => this.#isPaused,
          onBack: () => this.#revive(),
        })
      : null;
    this.add(searches);
    this.#unsubscribe = options.tokens.subscribe(() => this.refreshTexts());
  }

  /** Adds the searches of a panel that was read later. */
  add(searches: Search[]): void {
    for (const search of searches) {
      if (this.#nodes.has(search.key)) continue;
      const node: Node = {
        search,
        order: this.#nodes.size,
        watchers: 0,
        state: IDLE,
        listeners: new Set(),
        job: null,
        resolved: null,
        run: 0,
        isDoneTold: false,
        timer: null,
        revivals: 0,
        postProcess: null,
        isWhole: false,
      };
      this.#nodes.set(search.key, node);
      if (search.id !== null && !this.#byId.has(search.id)) this.#byId.set(search.id, node);
    }
  }

  /**
   * Takes other searches in place of those that it has. Those of the same key go on as long as their text and
   * range are the same; those of panels in files of their own stay.
   */
  replace(searches: Search[]): void {
    const wanted = new Set(searches.map((search) => search.key));
    for (const [key, node] of this.#nodes) {
      if (wanted.has(key) || key.includes('/')) continue;
      this.#release(node);
      this.#nodes.delete(key);
    }
    this.#byId.clear();
    this.add(searches);
    for (const [order, search] of searches.entries()) {
      const node = this.#nodes.get(search.key);
      if (!node) continue;
      if (node.search.source.kind !== search.source.kind) this.#release(node);
      node.search = search;
      node.order = order;
    }
    for (const node of this.#nodes.values()) {
      const { id } = node.search;
      if (id !== null && !this.#byId.has(id)) this.#byId.set(id, node);
    }
    this.#update();
  }

  // -- for components

  state(key: string): SearchState {
    return this.#nodes.get(key)?.state ?? IDLE;
  }

  subscribe(key: string, listener: () => void): () => void {
    const node = this.#nodes.get(key);
    node?.listeners.add(listener);
    return () => node?.listeners.delete(listener);
  }

  /** Hears of any change, for the line that says how many are done. */
  subscribeAll = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  get version(): number {
    return this.#version;
  }

  /** How many of the searches that are wanted have ended, of how many. */
  progress(): { done: number; all: number } {
    // What waits for a choice is not under way.
    const wanted = [...this.#nodes.values()].filter(
      (node) => node.state.phase !== 'waiting' && this.#isWanted(node),
    );
    const ended = wanted.filter((node) =>
      ['done', 'failed', 'cancelled'].includes(node.state.phase),
    );
    return { done: ended.length, all: wanted.length };
  }

  /** The jobs of the page, for what one opening costs. */
  sids(): string[] {
    return [...this.#jobs.values()].flatMap((job) => job.sid ?? []);
  }

  /** Says that an element shows a search, until the answer is called. */
  watch(key: string): () => void {
    const node = this.#nodes.get(key);
    if (!node) return () => {};
    node.watchers += 1;
    this.#update();
    if (node.state.phase === 'done' && !node.isWhole) void this.#fill(node);
    return () => {
      node.watchers -= 1;
      this.#update();
    };
  }

  /** Begins what needs nobody to look: searches with an id or handlers that nothing hides. */
  start(): void {
    this.#update();
  }

  /** Runs a search again, or all of them; rows stay until the new ones are there. */
  rerun(key?: string): void {
    const nodes = [...this.#nodes.values()].filter(
      (node) => key === undefined || node.search.key === key,
    );
    for (const node of nodes) {
      node.revivals = 0;
      // Of one with a base, the base runs again, and all its others with it.
      this.#release(this.#root(node));
      this.#release(node);
    }
    this.#update();
  }

  /** Ends the job of a search where it is. */
  cancel(key: string): void {
    const node = this.#nodes.get(key);
    const job = node ? this.#root(node).job : null;
    if (!job || !['queued', 'starting', 'running'].includes(job.phase)) return;
    if (job.sid !== null) this.#options.server.cancel(job.sid);
    job.phase = 'cancelled';
    if (job.sid !== null) this.#feed.unfollow(job.sid);
    for (const user of job.users) this.#tellJob(user, job);
    this.#pump();
  }

  /** While nobody looks at the page, nothing is refreshed. */
  pause(isPaused: boolean): void {
    this.#isPaused = isPaused;
    if (!isPaused) {
      for (const node of this.#nodes.values()) if (node.timer === null) this.#schedule(node);
    }
  }

  dispose(): void {
    this.#isDisposed = true;
    this.#unsubscribe();
    this.#feed.dispose();
    if (this.#busyTimer !== null) clearTimeout(this.#busyTimer);
    this.#watch?.dispose();
    for (const node of this.#nodes.values()) if (node.timer !== null) clearTimeout(node.timer);
    for (const job of this.#jobs.values()) this.#drop(job);
    this.#jobs.clear();
  }

  // -- which run

  refreshTexts(): void {
    this.#update();
  }

  #update(): void {
    if (this.#isDisposed) return;
    for (const node of this.#nodes.values()) this.#updateNode(node);
    this.#pump();
  }

  #isWanted(node: Node, depth = 0): boolean {
    const { search } = node;
    if (depth > 20) return false;
    if (!isShown(search.depends, search.rejects, this.#options.tokens.submitted)) return false;
    if (node.watchers > 0) return true;
    // Nobody shows it, and something hangs on it: handlers, or another search.
    if (Object.keys(search.handlers).length > 0) return true;
    return [...this.#nodes.values()].some(
      (other) =>
        other !== node &&
        other.search.source.kind === 'base' &&
        other.search.source.base === search.id &&
        search.id !== null &&
        this.#isWanted(other, depth + 1),
    );
  }

  /** The search whose job gives the rows. */
  #root(node: Node): Node {
    let at = node;
    for (let depth = 0; at.search.source.kind === 'base' && depth < 20; depth += 1) {
      const base = this.#byId.get(at.search.source.base);
      if (!base || base === at) break;
      at = base;
    }
    return at;
  }

  #updateNode(node: Node): void {
    if (!this.#isWanted(node)) {
      if (node.job && !this.#isHeld(node)) this.#release(node);
      return;
    }
    const { source } = node.search;
    if (source.kind === 'base') this.#updateChild(node, source.base, source.query);
    else if (source.kind === 'report') this.#updateReport(node, source.name, source.app);
    else this.#start(node, source.query, null);
  }

  /** What scrolls out of sight keeps its job: it has been paid for. */
  #isHeld(node: Node): boolean {
    const { search } = node;
    return isShown(search.depends, search.rejects, this.#options.tokens.submitted);
  }

  #range(search: Search, report: ReportSpec | null): { earliest: string; latest: string } {
    const { submitted } = this.#options.tokens;
    const page = submitted('earliest') !== undefined || submitted('latest') !== undefined;
    if (search.earliest !== null || search.latest !== null) {
      return { earliest: search.earliest ?? '', latest: search.latest ?? '' };
    }
    if (report) return { earliest: report.earliest, latest: report.latest };
    return page
      ? { earliest: submitted('earliest') ?? '', latest: submitted('latest') ?? '' }
      : { earliest: '', latest: '' };
  }

  #start(node: Node, query: string, report: ReportSpec | null): void {
    const { tokens, app } = this.#options;
    const range = this.#range(node.search, report);
    const parts = [query, range.earliest, range.latest].map((part) =>
      report && part === query ? { text: part, missing: [] } : substitute(part, tokens.submitted),
    );
    const missing = [...new Set(parts.flatMap((part) => part.missing))];
    if (missing.length > 0) {
      this.#wait(node, missing);
      return;
    }
    const [search = '', earliest = '', latest = ''] = parts.map((part) => part.text.trim());
    if (search === '') {
      this.#wait(node, []);
      return;
    }
    const spec = { app: report?.app ?? app, search, ...bounds(earliest, latest) };
    const key = JSON.stringify([spec.app, spec.search, spec.earliest, spec.latest]);
    if (node.resolved === key) return;
    this.#release(node);
    node.resolved = key;
    let job = this.#jobs.get(key);
    if (!job || job.phase === 'failed' || job.phase === 'cancelled') {
      job = {
        key,
        spec,
        order: node.order,
        sid: null,
        phase: 'queued',
        status: null,
        error: null,
        users: new Set(),
        previews: 0,
        previewAt: 0,
        mayBeLost: false,
        losses: 0,
      };
      this.#jobs.set(key, job);
    }
    job.users.add(node);
    node.job = job;
    node.run += 1;
    node.isDoneTold = false;
    this.#set(node, {
      phase: 'queued',
      isHeld: false,
      missing: [],
      error: null,
      job: null,
      sid: job.sid,
      isStale: node.state.rows !== null,
      ran: spec,
    });
    if (job.phase !== 'queued') this.#tellJob(node, job);
  }

  #updateReport(node: Node, name: string, app: string | null): void {
    const { tokens } = this.#options;
    const found = substitute(name, tokens.submitted);
    if (found.missing.length > 0) {
      this.#wait(node, found.missing);
      return;
    }
    const place = app ?? this.#options.app;
    const key = `${place}/${found.text}`;
    let report = this.#reports.get(key);
    if (!report) {
      report = this.#options.server.report(place, found.text);
      this.#reports.set(key, report);
      report.catch(() => this.#reports.delete(key));
    }
    if (node.state.phase === 'idle' || node.state.phase === 'waiting') {
      this.#set(node, { phase: 'queued', missing: [] });
    }
    report.then(
      (spec) => {
        if (this.#isDisposed || !this.#isWanted(node)) return;
        const display = spec.display ?? null;
        if (node.state.display !== display) this.#set(node, { display });
        this.#start(node, spec.search, spec);
        this.#pump();
      },
      (error) => this.#set(node, { phase: 'failed', error: asApiError(error) }),
    );
  }

  #updateChild(node: Node, base: string, query: string): void {
    const parent = this.#byId.get(base);
    if (!parent || parent === node) {
      const told = [{ type: 'ERROR', text: `there is no search with the id "${base}"` }];
      if (node.state.phase !== 'failed') {
        this.#set(node, { phase: 'failed', error: new ApiError('rejected', 0, told) });
      }
      return;
    }
    const own = substitute(query, this.#options.tokens.submitted);
    if (own.missing.length > 0) {
      this.#wait(node, own.missing);
      return;
    }
    const chain = this.#chain(parent);
    if (chain === null) {
      this.#wait(node, parent.state.missing);
      return;
    }
    const postProcess = pipeline([...chain, own.text]);
    const root = this.#root(node);
    const key = JSON.stringify([root.resolved, root.run, postProcess]);
    if (node.resolved === key) return;
    node.resolved = key;
    node.postProcess = postProcess === '' ? null : postProcess;
    node.run += 1;
    node.isDoneTold = false;
    const { phase, isHeld, missing } = root.state;
    this.#set(node, {
      phase: phase === 'done' ? 'running' : phase === 'idle' ? 'queued' : phase,
      isHeld,
      missing,
      isStale: node.state.rows !== null,
      error: root.state.error,
      job: root.state.job,
      ran: root.state.ran
        ? { ...root.state.ran, search: joined(root.state.ran.search, postProcess) }
        : null,
    });
    if (phase === 'done') void this.#fetchChild(node, root);
  }

  /** What the bases between a search and its root add; null while one of them waits for a token. */
  #chain(node: Node, depth = 0): string[] | null {
    const { source } = node.search;
    if (source.kind !== 'base' || depth > 20) return [];
    const parent = this.#byId.get(source.base);
    const before = parent ? this.#chain(parent, depth + 1) : [];
    const own = substitute(source.query, this.#options.tokens.submitted);
    if (before === null || own.missing.length > 0) return null;
    return [...before, own.text];
  }

  #wait(node: Node, missing: string[]): void {
    if (node.job) this.#release(node);
    node.resolved = null;
    const same = node.state.phase === 'waiting' && node.state.missing.join() === missing.join();
    if (!same) this.#set(node, { ...IDLE, phase: 'waiting', missing });
  }

  /** Gives a search's job back; one without a user ends. */
  #release(node: Node): void {
    if (node.timer !== null) clearTimeout(node.timer);
    node.timer = null;
    node.resolved = null;
    const job = node.job;
    node.job = null;
    if (!job) return;
    job.users.delete(node);
    if (job.users.size > 0) return;
    this.#drop(job);
    // Another one may have taken the key of a failed job.
    if (this.#jobs.get(job.key) === job) this.#jobs.delete(job.key);
  }

  #drop(job: Job): void {
    const isOver = job.phase === 'done' || job.phase === 'failed' || job.phase === 'cancelled';
    if (job.sid !== null) this.#feed.unfollow(job.sid);
    if (job.phase === 'starting') job.phase = 'cancelled';
    else if (job.sid !== null && !isOver) this.#options.server.cancel(job.sid);
  }

  // -- jobs

  /** Starts what waits for its turn. */
  #pump(): void {
    const all = [...this.#jobs.values()];
    let running = all.filter((job) => job.phase === 'starting' || job.phase === 'running').length;
    const waiting = all.filter((job) => job.phase === 'queued').sort((a, b) => a.order - b.order);
    for (const job of waiting) {
      const isHeld = running >= this.#most;
      this.#tellTurn(job, isHeld);
      if (isHeld) continue;
      running += 1;
      void this.#dispatch(job);
    }
  }

  /** Says whether a job waits for its turn; otherwise the server is being asked for it. */
  #tellTurn(job: Job, isHeld: boolean): void {
    for (const node of [...job.users]) {
      if (node.state.isHeld === isHeld) continue;
      this.#set(node, { isHeld });
      this.#updateChildren(node);
    }
  }

  async #dispatch(job: Job): Promise<void> {
    job.phase = 'starting';
    try {
      const { server, timezone, provenance } = this.#options;
      const sid = await server.createJob({
        timezone,
        provenance,
        statusStream: this.#feed.name ?? undefined,
        ...job.spec,
      });
      job.sid = sid;
      if (this.#isDisposed || (job.phase as Job['phase']) === 'cancelled') {
        this.#options.server.cancel(sid);
        return;
      }
      job.phase = 'running';
      for (const node of job.users) this.#set(node, { phase: 'running', sid });
      this.#feed.follow(sid);
    } catch (error) {
      const failure = asApiError(error);
      const isWanted = !this.#isDisposed && (job.phase as Job['phase']) === 'starting';
      if (failure.kind === 'busy' && isWanted) {
        job.phase = 'queued';
        this.#tellTurn(job, true);
        this.#holdBack();
        return;
      }
      job.phase = 'failed';
      job.error = failure;
      for (const node of job.users) this.#tellJob(node, job);
      this.#pump();
    }
  }

  /** The server takes no more searches of this user: as many as run now run at a time, and others try later. */
  #holdBack(): void {
    const begun = [...this.#jobs.values()].filter(
      (job) => job.phase === 'starting' || job.phase === 'running',
    );
    this.#most = Math.max(1, begun.length);
    if (this.#busyTimer !== null) return;
    this.#busyTimer = setTimeout(() => {
      this.#busyTimer = null;
      this.#pump();
    }, BUSY_WAIT);
  }

  #told(sid: string, status: JobStatus | null): void {
    for (const job of this.#jobs.values()) {
      if (job.sid === sid && job.phase === 'running') this.#heard(job, status);
    }
    this.#pump();
  }

  #trouble(error: unknown, failures: number): void {
    if (isAway(error)) this.#doubt();
    if (failures > PATIENCE) this.#failAll(error);
  }

  /** The jobs that run may be lost, until a status of them arrives. */
  #doubt(): void {
    for (const job of this.#jobs.values()) if (job.phase === 'running') job.mayBeLost = true;
  }

  /** Runs again what failed as the server was away. */
  #revive(): void {
    // Jobs that were lost sight of: those that are still there go on, the others run again.
    for (const job of this.#jobs.values()) {
      if (job.phase !== 'failed' || job.sid === null || !isAway(job.error)) continue;
      Object.assign(job, { phase: 'running', error: null, mayBeLost: true });
      for (const node of [...job.users]) {
        this.#set(node, { phase: 'running', error: null });
        this.#updateChildren(node);
      }
      this.#feed.follow(job.sid);
    }
    this.#readAgain();
    const failed = [...this.#nodes.values()].filter(
      (node) =>
        this.#isRevived(node) && this.#mayRepeat(node) && this.#root(node).job?.phase !== 'done',
    );
    for (const node of failed) {
      node.revivals += 1;
      this.#release(this.#root(node));
      this.#release(node);
    }
    this.#update();
  }

  /** Reads the rows of jobs that are done once more, whatever their searches do: only a run may have effects. */
  #readAgain(): void {
    for (const node of this.#nodes.values()) {
      const root = this.#root(node);
      const { job } = root;
      if (!this.#isRevived(node) || job?.phase !== 'done') continue;
      if (node === root) {
        node.revivals += 1;
        node.isDoneTold = false;
        this.#set(node, { phase: 'running', error: null });
        this.#updateChildren(node);
        void this.#fetch(node, job);
      } else if (root.state.phase === 'done') {
        node.revivals += 1;
        node.resolved = null;
        this.#updateNode(node);
      }
    }
  }

  #isRevived({ state, revivals }: Node): boolean {
    return state.phase === 'failed' && isAway(state.error) && revivals < MOST_REVIVALS;
  }

  /** Whether a second run of a search changes nothing: the first may have run although its answer is missing. */
  #mayRepeat(node: Node): boolean {
    return [node, this.#root(node)].every(
      ({ state }) => state.ran === null || surelyReads(state.ran.search),
    );
  }

  /** The server has been away for too long. */
  #failAll(error: unknown): void {
    for (const job of this.#jobs.values()) {
      if (job.phase !== 'running') continue;
      job.phase = 'failed';
      job.error = asApiError(error);
      if (job.sid !== null) this.#feed.unfollow(job.sid);
      for (const node of job.users) this.#tellJob(node, job);
    }
    this.#pump();
  }

  #heard(job: Job, status: JobStatus | null): void {
    if (!status && job.mayBeLost && this.#isReplaceable(job)) {
      this.#again(job);
      return;
    }
    if (!status) {
      const text = 'the job is gone: it was deleted, or the server has restarted';
      const told = [{ type: 'ERROR', text }];
      job.phase = 'failed';
      job.error = new ApiError('notFound', 404, told);
    } else {
      job.status = status;
      job.mayBeLost = false;
      if (status.isFailed) {
        job.phase = 'failed';
        job.error = new ApiError('rejected', 0, status.messages);
      } else if (status.isDone) job.phase = 'done';
    }
    for (const node of [...job.users]) this.#tellJob(node, job);
    if (job.phase === 'running') this.#preview(job);
  }

  /** Whether a lost job may run again: one that has written would write again. */
  #isReplaceable({ losses, spec }: Job): boolean {
    return losses < MOST_REVIVALS && surelyReads(spec.search);
  }

  /** Queues a job that a restart of the server has ended. */
  #again(job: Job): void {
    job.losses += 1;
    Object.assign(job, { phase: 'queued', sid: null, status: null, mayBeLost: false, previews: 0 });
    for (const node of [...job.users]) {
      node.isDoneTold = false;
      this.#set(node, { phase: 'queued', isHeld: false, sid: null, job: null });
      this.#updateChildren(node);
    }
  }

  /** Brings a search to the state of its job, and those based on it. */
  #tellJob(node: Node, job: Job): void {
    if (node.job !== job) return;
    if (job.phase === 'failed' || job.phase === 'cancelled') {
      this.#set(node, { phase: job.phase, error: job.error, job: job.status, isStale: false });
      this.#event(node, job.phase === 'failed' ? 'error' : 'cancelled');
      this.#updateChildren(node);
      return;
    }
    if (job.phase === 'running') {
      this.#set(node, { phase: 'running', job: job.status, sid: job.sid });
      if (job.status) this.#event(node, 'progress');
      this.#updateChildren(node);
      return;
    }
    if (job.phase === 'done') void this.#fetch(node, job);
  }

  async #fetch(node: Node, job: Job): Promise<void> {
    const { run } = node;
    const { sid } = job;
    if (node.isDoneTold) return;
    node.isDoneTold = true;
    // A job that has begun again has another id: an answer about the former one says nothing.
    const isLate = () => node.run !== run || node.job !== job || job.sid !== sid;
    try {
      // One that nobody shows is asked for its first row, which handlers look at.
      const isWhole = node.watchers > 0;
      const count = isWhole ? MAX_ROWS : 1;
      const rows = await this.#options.server.rows(sid ?? '', false, count, null);
      if (isLate()) return;
      node.isWhole = isWhole;
      this.#finish(node, { job: job.status, rows });
    } catch (error) {
      if (isLate() || this.#replaces(job, error)) return;
      this.#set(node, { phase: 'failed', error: asApiError(error), isStale: false });
      this.#event(node, 'error');
    }
    this.#updateChildren(node);
  }

  /** Runs the search of a job again that has ended and is gone when its rows are read: the server has restarted. */
  #replaces(job: Job | null, error: unknown): boolean {
    if (!job || asApiError(error).kind !== 'notFound') return false;
    // The rows of another search of this job were not there either.
    if (job.phase !== 'done') return true;
    if (!this.#isReplaceable(job)) return false;
    this.#again(job);
    this.#pump();
    return true;
  }

  /** The rows of a search that ran for its handlers, now that somebody looks at it. */
  async #fill(node: Node): Promise<void> {
    const { run } = node;
    const root = this.#root(node);
    const sid = root.job?.sid;
    if (!sid) return;
    node.isWhole = true;
    const isLate = () => node.run !== run || root.job?.sid !== sid;
    try {
      const rows = await this.#options.server.rows(sid, false, MAX_ROWS, node.postProcess);
      if (!isLate() && node.state.phase === 'done') this.#set(node, { rows });
    } catch (error) {
      if (isLate() || this.#replaces(root.job, error)) return;
      this.#set(node, { phase: 'failed', error: asApiError(error) });
    }
  }

  #finish(node: Node, part: Pick<SearchState, 'job' | 'rows'>): void {
    node.revivals = 0;
    this.#set(node, {
      phase: 'done',
      ...part,
      isPreview: false,
      isStale: false,
      error: null,
      updated: Date.now(),
    });
    // The last change of a job is progress, too: the only one that a fast job, or one of a base, has.
    this.#options.tokens.batch(() => {
      this.#event(node, 'progress');
      if (node.state.job?.isFinalized) this.#event(node, 'finalized');
      this.#event(node, 'done');
    });
    this.#schedule(node);
  }

  #updateChildren(parent: Node): void {
    for (const node of this.#nodes.values()) {
      if (node.search.source.kind !== 'base' || this.#root(node) !== parent || node === parent)
        continue;
      if (!this.#isWanted(node)) continue;
      const { phase, isHeld, error, job } = parent.state;
      if (phase === 'done') {
        node.resolved = null;
        this.#updateNode(node);
      } else {
        this.#set(node, { phase, isHeld, error, job, missing: parent.state.missing });
      }
    }
  }

  async #fetchChild(node: Node, root: Node): Promise<void> {
    const { run } = node;
    const sid = root.job?.sid;
    if (!sid) return;
    const isLate = () => node.run !== run || root.job?.sid !== sid || this.#isDisposed;
    try {
      const isWhole = node.watchers > 0;
      const count = isWhole ? MAX_ROWS : 1;
      const rows = await this.#options.server.rows(sid, false, count, node.postProcess);
      if (isLate()) return;
      node.isWhole = isWhole;
      const job = root.state.job;
      this.#set(node, { sid });
      this.#finish(node, { rows, job: job ? { ...job, resultCount: rows.rows.length } : null });
    } catch (error) {
      if (isLate() || this.#replaces(root.job, error)) return;
      this.#set(node, { phase: 'failed', error: asApiError(error), isStale: false });
      this.#event(node, 'error');
    }
  }

  /** Rows of an unfinished search, for those who look at it. */
  #preview(job: Job): void {
    const previews = job.status?.numPreviews ?? 0;
    if (previews === job.previews || Date.now() - job.previewAt < PREVIEW_EVERY) return;
    const watching = [...job.users].filter((node) => node.watchers > 0);
    if (watching.length === 0 || job.sid === null) return;
    job.previews = previews;
    job.previewAt = Date.now();
    this.#options.server.rows(job.sid, true, MAX_ROWS, null).then(
      (rows) => {
        if (job.phase !== 'running' || rows.rows.length === 0) return;
        for (const node of watching) {
          if (node.job !== job) continue;
          this.#set(node, { rows, isPreview: true, isStale: false });
          this.#event(node, 'preview');
        }
      },
      () => {},
    );
  }

  // -- refresh, handlers, listeners

  #schedule(node: Node): void {
    const { refresh, source } = node.search;
    if (
      refresh === null ||
      source.kind === 'base' ||
      node.timer !== null ||
      node.state.phase !== 'done'
    )
      return;
    const seconds = secondsOf(substitute(refresh, this.#options.tokens.submitted).text);
    if (seconds === null) return;
    node.timer = setTimeout(() => {
      node.timer = null;
      // Comes back when somebody looks.
      if (!this.#isPaused) this.rerun(node.search.key);
    }, seconds * 1000);
  }

  #event(node: Node, event: SearchEventName): void {
    this.#options.onEvent?.(node.search, event, node.state);
  }

  #set(node: Node, part: Partial<SearchState>): void {
    if (this.#isDisposed) return;
    node.state = { ...node.state, ...part };
    if (this.#isRevived(node)) this.#watch?.begin();
    this.#version += 1;
    for (const listener of [...node.listeners]) listener();
    for (const listener of [...this.#listeners]) listener();
  }
}

/** Tells the streams of a user's pages apart; it protects nothing. */
const randomName = () => `page-${Math.random().toString(36).slice(2)}`;

function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError('server', 0, [{ type: 'ERROR', text: String(error) }]);
}

/**
 * One search from the request to its last progress report.
 * Guarantees that nothing is reported after it was abandoned, that an abandoned job is cancelled on
 * the server, and that a server away for a moment is asked again. Leaves showing to the page.
 */

import { ApiError, isAbort, type KarstClient, type Namespace } from '../api/client';
import type { JobFeed } from '../api/jobFeed';
import type { JobAction, JobStatus } from '../api/types';
import type { StatusClient } from './followJob';
import type { SearchRequest } from './urlState';

/** What is asked, and the zone in which relative times snap. */
export interface JobStart extends SearchRequest {
  timezone: string;
  /** The app whose knowledge objects the search uses, and the user. */
  namespace?: Namespace;
}

/** How a search begins that nobody typed here, but that came with an address. */
export interface Arrival {
  /** The id of a job that may still be there with the results. */
  sid: string | null;
  /** Commands for which the person has to be asked before the search runs. */
  asksFor: (request: JobStart) => Promise<string[]>;
}

export type Phase = 'idle' | 'starting' | 'held' | 'running' | 'done' | 'failed' | 'cancelled';

export interface SearchState {
  phase: Phase;
  request: SearchRequest | null;
  sid: string | null;
  job: JobStatus | null;
  error: ApiError | null;
  /** In `held`: the commands that the person is asked about. */
  asked: string[];
}

export type SearchEvent =
  | { type: 'started'; request: SearchRequest }
  | { type: 'held'; commands: string[] }
  | { type: 'created'; sid: string }
  | { type: 'progress'; job: JobStatus }
  | { type: 'interrupted'; error: ApiError }
  | { type: 'failed'; error: ApiError }
  | { type: 'cancelled' }
  | { type: 'reset' };

export const IDLE: SearchState = {
  phase: 'idle',
  request: null,
  sid: null,
  job: null,
  error: null,
  asked: [],
};

export function reduce(state: SearchState, event: SearchEvent): SearchState {
  switch (event.type) {
    case 'started':
      return { ...IDLE, phase: 'starting', request: event.request };
    case 'held':
      return { ...state, phase: 'held', asked: event.commands };
    case 'created':
      return { ...state, phase: 'running', sid: event.sid };
    case 'progress':
      return { ...state, job: event.job, error: null, phase: phaseOf(event.job) };
    case 'interrupted':
      return { ...state, error: event.error };
    case 'failed':
      return { ...state, phase: 'failed', error: event.error };
    case 'cancelled':
      return { ...state, phase: 'cancelled', error: null };
    case 'reset':
      return IDLE;
  }
}

function phaseOf(job: JobStatus): Phase {
  if (job.isFailed) return 'failed';
  return job.isDone ? 'done' : 'running';
}

/** Requests for the status that may fail in a row while the server is away. */
const PATIENCE = 5;

export type JobClient = Pick<KarstClient, 'createJob' | 'job' | 'control'> & StatusClient;

/** Loads beside the page; whoever follows a job hears of it if that fails. */
const following = import('./followJob');
following.catch(() => {});

export class SearchRun {
  readonly #client: JobClient;
  readonly #dispatch: (event: SearchEvent) => void;
  readonly #controller = new AbortController();
  #sid: string | null = null;
  #finished = false;
  /** Whether the job goes on when nobody looks any more: it was not started here, or was kept. */
  #outlives = false;
  #feed: JobFeed | null = null;
  #leave: () => void = () => {};

  constructor(client: JobClient, dispatch: (event: SearchEvent) => void) {
    this.#client = client;
    this.#dispatch = (event) => {
      if (!this.#controller.signal.aborted) dispatch(event);
    };
  }

  /** Runs the search, or shows the job that an address names. */
  async follow(request: JobStart, arrival: Arrival | null = null): Promise<void> {
    this.#dispatch({ type: 'started', request });
    try {
      if (arrival?.sid && (await this.#exists(arrival.sid))) {
        this.#sid = arrival.sid;
        this.#outlives = true;
        this.#dispatch({ type: 'created', sid: arrival.sid });
        await this.#watch(arrival.sid);
        return;
      }
      const commands = arrival ? await arrival.asksFor(request) : [];
      if (commands.length > 0) {
        this.#dispatch({ type: 'held', commands });
        return;
      }
      if (this.#controller.signal.aborted) return;
      const { query: search, range } = request;
      const { timezone, namespace } = request;
      const sid = await this.#client.createJob({ search, ...range, timezone, namespace });
      this.#sid = sid;
      if (this.#controller.signal.aborted) return this.#cancelQuietly();
      this.#dispatch({ type: 'created', sid });
      await this.#watch(sid);
    } catch (error) {
      if (!isAbort(error)) this.#dispatch({ type: 'failed', error: asApiError(error) });
    } finally {
      this.#finished = true;
    }
  }

  /** Whether the job is still there for this user. */
  async #exists(sid: string): Promise<boolean> {
    try {
      await this.#client.job(sid, this.#controller.signal);
      return true;
    } catch (error) {
      if (error instanceof ApiError && (error.kind === 'notFound' || error.kind === 'forbidden')) {
        return false;
      }
      throw error;
    }
  }

  /** Reports until the job has ended, or is abandoned. */
  async #watch(sid: string): Promise<void> {
    const { followJob } = await following;
    const isLeft = () => this.#controller.signal.aborted;
    if (isLeft()) return;
    await new Promise<void>((resolve, reject) => {
      this.#leave = resolve;
      this.#feed = followJob(this.#client, sid, {
        onStatus: (job) => {
          if (job === null) {
            const told = [{ type: 'FATAL', text: 'Unknown sid.' }];
            reject(new ApiError('notFound', 404, told));
            return;
          }
          this.#dispatch({ type: 'progress', job });
          if (job.isDone || job.isFailed) resolve();
        },
        onTrouble: (error, failures) => {
          const isAway = error instanceof ApiError && error.kind === 'unreachable';
          if (isAway && failures <= PATIENCE) this.#dispatch({ type: 'interrupted', error });
          else reject(error);
        },
      });
    }).finally(() => this.#feed?.dispose());
  }

  async control(action: JobAction): Promise<void> {
    const sid = this.#sid;
    if (sid === null || this.#finished) return;
    if (action === 'cancel') {
      this.#dispatch({ type: 'cancelled' });
      this.#outlives = false;
      this.abandon();
      return;
    }
    try {
      await this.#client.control(sid, action);
      this.#feed?.refresh();
    } catch (error) {
      this.#dispatch({ type: 'interrupted', error: asApiError(error) });
    }
  }

  /** Stops following; a job still running is cancelled on the server. */
  abandon(): void {
    if (this.#controller.signal.aborted) return;
    this.#controller.abort();
    this.#leave();
    if (!this.#finished && !this.#outlives) this.#cancelQuietly();
  }

  /** Lets the job go on when this is abandoned. */
  keep(): void {
    this.#outlives = true;
  }

  #cancelQuietly(): void {
    if (this.#sid !== null) this.#client.control(this.#sid, 'cancel').catch(() => {});
  }
}

function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  return new ApiError('server', 0, [{ type: 'ERROR', text: String(error) }]);
}

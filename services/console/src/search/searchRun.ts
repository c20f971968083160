/**
 * One search from the request to its last progress report.
 * Guarantees that nothing is reported after it was abandoned, that an abandoned job is cancelled on
 * the server, and that a server away for a moment is asked again. Leaves showing to the page.
 */

import { ApiError, isAbort, type KarstClient, type Namespace } from '../api/client';
import type { JobAction, JobStatus } from '../api/types';
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

const FIRST_DELAY = 80;
const LONGEST_DELAY = 1000;
const PATIENCE = 5;

export type JobClient = Pick<KarstClient, 'createJob' | 'job' | 'control'>;

export class SearchRun {
  readonly #client: JobClient;
  readonly #dispatch: (event: SearchEvent) => void;
  readonly #controller = new AbortController();
  #sid: string | null = null;
  #finished = false;
  /** Whether the job goes on when nobody looks any more: it was not started here, or was kept. */
  #outlives = false;
  #wake: () => void = () => {};

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
        await this.#poll(arrival.sid);
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
      await this.#poll(sid);
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

  async #poll(sid: string): Promise<void> {
    let delay = FIRST_DELAY;
    let failures = 0;
    while (!this.#controller.signal.aborted) {
      try {
        const job = await this.#client.job(sid, this.#controller.signal);
        failures = 0;
        this.#dispatch({ type: 'progress', job });
        if (job.isDone || job.isFailed) return;
      } catch (error) {
        failures += 1;
        const isAway = error instanceof ApiError && error.kind === 'unreachable';
        if (!isAway || failures > PATIENCE) throw error;
        this.#dispatch({ type: 'interrupted', error });
      }
      await this.#pause(delay);
      delay = Math.min(LONGEST_DELAY, delay * 1.5);
    }
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, milliseconds);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
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
      this.#wake();
    } catch (error) {
      this.#dispatch({ type: 'interrupted', error: asApiError(error) });
    }
  }

  /** Stops following; a job still running is cancelled on the server. */
  abandon(): void {
    if (this.#controller.signal.aborted) return;
    this.#controller.abort();
    this.#wake();
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

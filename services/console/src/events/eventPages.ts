/**
 * The events of a job by their place, loaded in pages as they come into sight.
 * Guarantees that a page is loaded once at a time, that what is shown stays until newer events of the same
 * place are there, and that memory is bounded. Leaves drawing to the list.
 */

import { ApiError, isAbort } from '../api/client';
import type { EventRow, EventsPage } from '../api/types';

export const PAGE_SIZE = 50;
/** Pages kept; those looked at longest ago go first. */
const MOST_PAGES = 60;

export interface PagesState {
  /** Changes with everything below. */
  revision: number;
  error: ApiError | null;
  isLoading: boolean;
  /** Words to mark. */
  highlighted: string[];
}

type Load = (offset: number, count: number, signal: AbortSignal) => Promise<EventsPage>;

interface Page {
  version: string;
  events: EventRow[];
}

export class EventPages {
  readonly #load: Load;
  readonly #controller = new AbortController();
  readonly #pages = new Map<number, Page>();
  readonly #loading = new Set<number>();
  readonly #listeners = new Set<() => void>();
  #version = '';
  #wanted: [number, number] = [0, 0];
  #state: PagesState = { revision: 0, error: null, isLoading: false, highlighted: [] };

  constructor(load: Load) {
    this.#load = load;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  state = (): PagesState => this.#state;

  /** The event at a place; undefined while it is not there. */
  at(place: number): EventRow | undefined {
    return this.#pages.get(Math.floor(place / PAGE_SIZE))?.events[place % PAGE_SIZE];
  }

  /** Loads what is missing or older than `version` between two places, the second included. */
  want(first: number, last: number, version: string): void {
    this.#version = version;
    this.#wanted = [Math.floor(first / PAGE_SIZE), Math.floor(last / PAGE_SIZE)];
    this.#next();
  }

  close(): void {
    this.#controller.abort();
    this.#listeners.clear();
  }

  #next(): void {
    const [from, to] = this.#wanted;
    for (let page = from; page <= to; page += 1) {
      const isFresh = this.#pages.get(page)?.version === this.#version;
      if (!isFresh && !this.#loading.has(page)) void this.#fetch(page);
    }
  }

  async #fetch(page: number): Promise<void> {
    const version = this.#version;
    this.#loading.add(page);
    this.#publish({ isLoading: true });
    try {
      const found = await this.#load(page * PAGE_SIZE, PAGE_SIZE, this.#controller.signal);
      this.#pages.delete(page);
      this.#pages.set(page, { version, events: found.events });
      this.#forget();
      this.#loading.delete(page);
      const isLoading = this.#loading.size > 0;
      this.#publish({ isLoading, error: null, highlighted: found.highlighted });
      this.#next();
    } catch (error) {
      this.#loading.delete(page);
      if (isAbort(error)) return;
      const failure = error instanceof ApiError ? error : new ApiError('server', 0, []);
      // Nothing is asked again by itself: the next scroll or version does.
      this.#publish({ isLoading: this.#loading.size > 0, error: failure });
    }
  }

  #forget(): void {
    const [from, to] = this.#wanted;
    for (const page of this.#pages.keys()) {
      if (this.#pages.size <= MOST_PAGES) return;
      if (page < from || page > to) this.#pages.delete(page);
    }
  }

  #publish(change: Partial<PagesState>): void {
    if (this.#controller.signal.aborted) return;
    this.#state = { ...this.#state, ...change, revision: this.#state.revision + 1 };
    for (const listener of this.#listeners) listener();
  }
}

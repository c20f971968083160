/** Rows of a result, read beside the page by one worker for all; in the page where there are no workers. */

import { resultRows } from './columns';
import { ApiError, apiErrorOf } from './errors';
import type { Ask, Told } from './rows.worker';
import { type RowsAnswer, type RowsRequest, readRows } from './rowsAnswer';
import type { ResultRows } from './types';

class Reader {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, (answer: RowsAnswer) => void>();
  #asked = 0;
  #isBroken = false;

  constructor() {
    this.#worker = new Worker(new URL('./rows.worker.ts', import.meta.url), { type: 'module' });
    this.#worker.onmessage = ({ data: { id, answer } }: MessageEvent<Told>) => {
      this.#waiting.get(id)?.(answer);
      this.#waiting.delete(id);
    };
    // Its file may be gone, after an update of the server.
    this.#worker.onerror = () => {
      this.#isBroken = true;
      for (const tell of this.#waiting.values()) tell({ kind: 'lost' });
      this.#waiting.clear();
    };
  }

  get isBroken(): boolean {
    return this.#isBroken;
  }

  read(request: RowsRequest, signal: AbortSignal | undefined): Promise<RowsAnswer> {
    this.#asked += 1;
    const id = this.#asked;
    return new Promise((tell, fail) => {
      const stop = () => {
        this.#waiting.delete(id);
        this.#worker.postMessage({ id, request: null } satisfies Ask);
        fail(new DOMException('nobody waits any more', 'AbortError'));
      };
      if (signal?.aborted) return stop();
      signal?.addEventListener('abort', stop, { once: true });
      this.#waiting.set(id, (answer) => {
        signal?.removeEventListener('abort', stop);
        tell(answer);
      });
      this.#worker.postMessage({ id, request } satisfies Ask);
    });
  }
}

let reader: Reader | null = null;

async function answerOf(
  request: RowsRequest,
  signal: AbortSignal | undefined,
): Promise<RowsAnswer> {
  if (typeof Worker !== 'undefined') {
    reader ??= new Reader();
    if (!reader.isBroken) {
      const answer = await reader.read(request, signal);
      if (!reader.isBroken) return answer;
    }
  }
  try {
    return await readRows(request, signal ?? new AbortController().signal);
  } catch (error) {
    if (error instanceof DOMException && error.name === 'AbortError') throw error;
    return { kind: 'lost' };
  }
}

/** Fetches rows. Failures are those of any other request. */
export async function fetchRows(request: RowsRequest, signal?: AbortSignal): Promise<ResultRows> {
  const answer = await answerOf(request, signal);
  switch (answer.kind) {
    case 'rows':
      return resultRows(answer.columns);
    case 'refused':
      throw apiErrorOf(answer.status, answer.statusText, answer.text, answer.retryAfter);
    case 'garbled':
      throw new ApiError('server', answer.status, [
        { type: 'ERROR', text: `the server's answer to ${request.url} is not JSON` },
      ]);
    case 'lost':
      throw new ApiError('unreachable', 0, [
        { type: 'ERROR', text: 'the server cannot be reached' },
      ]);
  }
}

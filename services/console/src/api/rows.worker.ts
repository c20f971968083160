/**
 * Fetches results and makes columns of them, beside the page: parsing tens of megabytes of JSON would stop
 * it for seconds.
 */

import { transfersOf } from './columns';
import { type RowsAnswer, type RowsRequest, readRows } from './rowsAnswer';

export interface Ask {
  id: number;
  /** Null: nobody waits any more. */
  request: RowsRequest | null;
}

export interface Told {
  id: number;
  answer: RowsAnswer;
}

const running = new Map<number, AbortController>();

self.onmessage = async ({ data: { id, request } }: MessageEvent<Ask>) => {
  if (request === null) {
    running.get(id)?.abort();
    return;
  }
  const controller = new AbortController();
  running.set(id, controller);
  const answer = await readRows(request, controller.signal).catch(
    (): RowsAnswer => ({ kind: 'lost' }),
  );
  running.delete(id);
  if (controller.signal.aborted) return;
  const told: Told = { id, answer };
  self.postMessage(told, {
    transfer: answer.kind === 'rows' ? transfersOf(answer.columns) : [],
  });
};

/** The server's explanation of a search, asked once for the editor, which checks it, and for the estimate. */

import { ApiError, type JobRequest, type KarstClient } from '../api/client';
import type { Explanation } from '../api/types';

export type Explain = (request: JobRequest) => Promise<Explanation>;

/** Milliseconds for which an answer holds, a refusal too: what a search reads, and its macros, change. */
const FRESH = 5_000;

export function sharedExplain(client: Pick<KarstClient, 'explain'>): Explain {
  let last: { key: string; until: number; answer: Promise<Explanation> } | null = null;
  return (request) => {
    const key = JSON.stringify(request);
    if (last?.key !== key || Date.now() >= last.until) {
      // Not ended with one of those who asked: another one may wait for it.
      const answer = client.explain(request);
      last = { key, until: Date.now() + FRESH, answer };
      // What failed for another reason than its text is asked again.
      answer.catch((error) => {
        const isRefused = error instanceof ApiError && error.kind === 'rejected';
        if (!isRefused && last?.answer === answer) last = null;
      });
    }
    return last.answer;
  };
}

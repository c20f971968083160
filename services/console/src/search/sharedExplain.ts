/** The server's explanation of a search, asked once for the editor, which checks it, and for the estimate. */

import { ApiError, type JobRequest, type KarstClient } from '../api/client';
import type { Explanation } from '../api/types';

export type Explain = (request: JobRequest) => Promise<Explanation>;

/** Milliseconds for which an answer holds, a refusal too: what a search reads, and its macros, change. */
const FRESH = 5_000;

interface Asked {
  key: string;
  /** The key without spaces around the search, which count in the places of mistakes only. */
  meaning: string;
  until: number;
  answer: Promise<Explanation>;
  controller: AbortController;
}

/** A request ends as aborted if another search is asked for before its answer: nobody waits for it any more. */
export function sharedExplain(client: Pick<KarstClient, 'explain'>): Explain {
  let last: Asked | null = null;
  return (request) => {
    const key = JSON.stringify(request);
    if (last?.key === key && Date.now() < last.until) return last.answer;
    const meaning = JSON.stringify({ ...request, search: request.search.trim() });
    if (last?.meaning !== meaning) last?.controller.abort();
    const controller = new AbortController();
    // Not ended with one of those who asked: another one may wait for it.
    const answer = client.explain(request, controller.signal);
    const asked = { key, meaning, until: Number.POSITIVE_INFINITY, answer, controller };
    last = asked;
    const hold = () => {
      asked.until = Date.now() + FRESH;
    };
    answer.then(hold, (error) => {
      // What failed for another reason than its text is asked again.
      if (error instanceof ApiError && error.kind === 'rejected') hold();
      else if (last === asked) last = null;
    });
    return answer;
  };
}

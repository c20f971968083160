/** One search at a time for the page. Starting another abandons the one that runs. */

import { useCallback, useEffect, useReducer, useRef } from 'react';
import type { KarstClient } from '../api/client';
import type { JobAction } from '../api/types';
import { IDLE, type JobStart, reduce, SearchRun, type SearchState } from './searchRun';

export interface SearchJob {
  state: SearchState;
  start: (request: JobStart) => void;
  control: (action: JobAction) => void;
  reset: () => void;
}

export function useSearchJob(client: KarstClient): SearchJob {
  const [state, dispatch] = useReducer(reduce, IDLE);
  const running = useRef<SearchRun | null>(null);

  const stop = useCallback(() => {
    running.current?.abandon();
    running.current = null;
  }, []);

  const start = useCallback(
    (request: JobStart) => {
      stop();
      const run = new SearchRun(client, dispatch);
      running.current = run;
      void run.follow(request);
    },
    [client, stop],
  );

  const control = useCallback((action: JobAction) => {
    void running.current?.control(action);
  }, []);

  const reset = useCallback(() => {
    stop();
    dispatch({ type: 'reset' });
  }, [stop]);

  useEffect(() => stop, [stop]);

  return { state, start, control, reset };
}

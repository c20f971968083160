/** One search at a time for the page. Starting another abandons the one that runs. */

import { startTransition, useCallback, useEffect, useReducer, useRef } from 'react';
import type { KarstClient } from '../api/client';
import type { JobAction } from '../api/types';
import {
  type Arrival,
  IDLE,
  type JobStart,
  reduce,
  SearchRun,
  type SearchState,
} from './searchRun';

export interface SearchJob {
  state: SearchState;
  start: (request: JobStart, arrival?: Arrival) => void;
  control: (action: JobAction) => void;
  /** Lets the job go on when another search starts or the page is left. */
  keep: () => void;
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
    (request: JobStart, arrival?: Arrival) => {
      stop();
      const run = new SearchRun(client, (event) => {
        // What comes from the server is drawn bit by bit, and keys are answered in between.
        if (event.type === 'started') dispatch(event);
        else startTransition(() => dispatch(event));
      });
      running.current = run;
      void run.follow(request, arrival ?? null);
    },
    [client, stop],
  );

  const control = useCallback((action: JobAction) => {
    void running.current?.control(action);
  }, []);

  const keep = useCallback(() => running.current?.keep(), []);

  const reset = useCallback(() => {
    stop();
    dispatch({ type: 'reset' });
  }, [stop]);

  useEffect(() => stop, [stop]);

  return { state, start, control, keep, reset };
}

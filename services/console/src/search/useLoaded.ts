/**
 * Something loaded from the server and loaded again when it has grown.
 * A change of `identity` drops what was loaded and aborts what loads; a change of `version` alone
 * keeps the old value on the page, waits for the load under way, then loads once more.
 */

import { startTransition, useEffect, useRef, useState } from 'react';
import { ApiError, isAbort } from '../api/client';

export interface Loaded<T> {
  value: T | null;
  error: ApiError | null;
  loading: boolean;
}

interface Load {
  identity: string;
  controller: AbortController;
  busy: boolean;
  again: boolean;
}

export function useLoaded<T>(
  identity: string,
  version: string,
  load: (signal: AbortSignal) => Promise<T>,
): Loaded<T> {
  const [state, setState] = useState<Loaded<T> & { identity: string }>({
    identity,
    value: null,
    error: null,
    loading: true,
  });
  const current = useRef<Load | null>(null);
  const latestLoad = useRef(load);
  latestLoad.current = load;

  // biome-ignore lint/correctness/useExhaustiveDependencies: a new version is a reason to load
  useEffect(() => {
    const known = current.current;
    if (known?.identity === identity && known.busy) {
      known.again = true;
      return;
    }
    known?.controller.abort();
    const mine: Load = { identity, controller: new AbortController(), busy: true, again: false };
    current.current = mine;
    const settle = (value: T | null, error: ApiError | null) => {
      if (mine.controller.signal.aborted) return;
      const loading = mine.again;
      startTransition(() =>
        setState((before) => ({
          identity,
          value: error && before.identity === identity ? before.value : value,
          error,
          loading,
        })),
      );
    };
    const run = async () => {
      do {
        mine.again = false;
        try {
          settle(await latestLoad.current(mine.controller.signal), null);
        } catch (error) {
          if (isAbort(error)) return;
          settle(null, error instanceof ApiError ? error : new ApiError('server', 0, []));
        }
      } while (mine.again && !mine.controller.signal.aborted);
      mine.busy = false;
    };
    void run();
  }, [identity, version]);

  useEffect(
    () => () => {
      current.current?.controller.abort();
      current.current = null;
    },
    [],
  );

  return state.identity === identity ? state : { value: null, error: null, loading: true };
}

/** A request that a form makes: whether it runs, and why the last one failed. */

import { useState } from 'react';
import { ApiError } from '../api/client';

interface Submit {
  busy: boolean;
  error: ApiError | null;
  /** Runs a request. Gives whether it succeeded. */
  submit: (request: () => Promise<unknown>) => Promise<boolean>;
}

export function useSubmit(): Submit {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const submit = async (request: () => Promise<unknown>) => {
    setBusy(true);
    setError(null);
    try {
      await request();
      return true;
    } catch (failure) {
      setError(asApiError(failure));
      return false;
    } finally {
      setBusy(false);
    }
  };
  return { busy, error, submit };
}

export const asApiError = (failure: unknown): ApiError =>
  failure instanceof ApiError
    ? failure
    : new ApiError('server', 0, [{ type: 'ERROR', text: String(failure) }]);

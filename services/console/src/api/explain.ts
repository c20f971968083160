import type { ApiError } from './client';

/** What a failure to read a job's results means to the person looking at them. */
export function explainJobError(error: ApiError): string {
  if (error.kind === 'notFound') {
    return 'The server no longer has the results of this search. Run it again.';
  }
  if (error.kind === 'unreachable') return 'The server cannot be reached; this may be out of date.';
  return error.message;
}

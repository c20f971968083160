/** What a failure means to the person looking at the page, and what helps. */

import type { ApiError } from './client';

export interface Explained {
  title: string;
  /** What the server said, with its line breaks. */
  detail: string;
  /** What the person can do. */
  advice: string;
  /** Whether the same request may succeed later. */
  retry: boolean;
  /** Seconds after which it makes sense, where the server said. */
  retryAfter: number | null;
}

/** The capability that the server's refusal names. */
export function missingCapability(error: ApiError): string | null {
  return /lacks the capability ([a-z_]+)/.exec(error.message)?.[1] ?? null;
}

export function explainError(error: ApiError): Explained {
  const said = { detail: error.message, retryAfter: error.retryAfter };
  switch (error.kind) {
    case 'unreachable':
      return {
        ...said,
        title: 'The server cannot be reached',
        detail: '',
        advice: 'Check the network, and whether the server is running.',
        retry: true,
      };
    case 'unauthorized':
      return { ...said, title: 'Not signed in', advice: 'Sign in and try again.', retry: false };
    case 'forbidden': {
      const capability = missingCapability(error);
      const advice = capability
        ? `Ask an administrator for a role with the capability ${capability}.`
        : 'Ask an administrator for access.';
      return { ...said, title: 'Not allowed', advice, retry: false };
    }
    case 'notFound':
      return {
        ...said,
        title: 'Not found',
        advice: 'It may have been deleted, have expired, or not be shared with you.',
        retry: false,
      };
    case 'conflict':
      return {
        ...said,
        title: 'Already exists or was changed',
        advice: 'Choose another name, or load the page again.',
        retry: false,
      };
    case 'tooLarge':
      return { ...said, title: 'Too large', advice: 'Send less data at a time.', retry: false };
    case 'busy':
      return {
        ...said,
        title: 'The server is busy',
        advice: error.retryAfter
          ? `Try again in ${error.retryAfter} s, or stop a search that you no longer need.`
          : 'Try again in a moment, or stop a search that you no longer need.',
        retry: true,
      };
    case 'rejected':
      return { ...said, title: 'Not accepted', advice: '', retry: false };
    case 'server':
      return {
        ...said,
        title: 'The server failed',
        advice: 'Try again. If the problem persists, see the log of the server.',
        retry: true,
      };
  }
}

/** What a failure to read a job's results means to the person looking at them. */
export function explainJobError(error: ApiError): string {
  if (error.kind === 'notFound') {
    return 'The server no longer has the results of this search. Run it again.';
  }
  if (error.kind === 'unreachable') return 'The server cannot be reached; this may be out of date.';
  return error.message;
}

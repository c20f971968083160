/** How the page asks for what it shows, and keeps the answers. */

import { QueryClient } from '@tanstack/react-query';
import { ApiError } from '../api/client';
import { explainError } from '../api/explain';

/** How often a feed is asked again that failed and may succeed later. */
const RETRIES = 2;

export function newQueries(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        // A browser that thinks it is offline may reach the server, such as one on the same machine; if not, the page
        // is to say so rather than to wait in silence with old answers.
        networkMode: 'always',
        refetchOnWindowFocus: false,
        retry: (count, error) =>
          count < RETRIES && error instanceof ApiError && explainError(error).retry,
      },
    },
  });
}

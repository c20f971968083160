/** Why the results of a job cannot be read, and what a second run of its search would do. */

import type { ApiError } from '../api/client';
import { explainJobError } from '../api/explain';
import { commandsOf, surelyReads, writingCommands } from '../query/writes';

export function explainLostResults(error: ApiError, query: string): string {
  if (error.kind !== 'notFound' || surelyReads(query)) return explainJobError(error);
  const writes = writingCommands(commandsOf(query)).join(', ');
  const repeated = writes || 'what its macros, saved searches or other commands change';
  return `The server no longer has the results of this search. Running it again also repeats ${repeated}.`;
}

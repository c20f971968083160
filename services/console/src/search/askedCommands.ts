import { ApiError, type KarstClient } from '../api/client';
import { commandsOf, isHidden, isOpaque, writingCommands } from '../query/writes';
import type { JobStart } from './searchRun';

/**
 * The commands that a person is asked about before a search of an address runs: those that change something,
 * and those that run a search which the text does not show.
 */
export async function askedCommands(
  client: Pick<KarstClient, 'explain'>,
  { query, range, timezone, namespace }: JobStart,
): Promise<string[]> {
  const shown = writingCommands(commandsOf(query));
  if (shown.length > 0 || !isOpaque(query)) return shown;
  try {
    const { commands } = await client.explain({ search: query, ...range, timezone, namespace });
    const names = commands.flatMap(({ name, text }) => [name, ...commandsOf(text)]);
    return [...writingCommands(names), ...new Set(names.filter(isHidden))];
  } catch (error) {
    // A search with a mistake changes nothing: the answer to it shows the mistake.
    if (error instanceof ApiError && error.kind === 'rejected') return [];
    throw error;
  }
}

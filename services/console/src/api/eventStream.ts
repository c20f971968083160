/**
 * Server-sent events, as text arrives. Not `EventSource`: that one sends no session key, does not tell a refusal
 * from a lost connection, and does not show the comments that say that a quiet stream is alive.
 */

import { piecesOf } from './pieces';

/** An event, or with an empty type something that only shows that the stream is alive. */
export interface ServerEvent {
  type: string;
  data: string;
}

/** What is held back of an event that never ends; a status has some kilobytes. */
const MAX_EVENT = 1 << 20;

/** The events of an answer, as soon as each is complete. */
export async function* readEvents(response: Response): AsyncGenerator<ServerEvent> {
  for await (const piece of piecesOf(response, '\n\n', MAX_EVENT)) yield eventOf(piece);
}

function eventOf(text: string): ServerEvent {
  const event: ServerEvent = { type: '', data: '' };
  for (const line of text.split('\n')) {
    if (line.startsWith('event: ')) event.type = line.slice('event: '.length);
    else if (line.startsWith('data: ')) event.data += line.slice('data: '.length);
  }
  return event;
}

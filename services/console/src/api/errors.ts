/** What went wrong with a request, as a page explains it. */

import { asObject, decodeMessages } from './decode';
import { readable } from './messageText';
import type { ServerMessage } from './types';

/**
 * What a page can do about a failure: try again later (`unreachable`, `busy`, `server`), log in
 * (`unauthorized`), ask for a capability (`forbidden`), load the object anew (`conflict`), send less
 * (`tooLarge`), or correct the request (`rejected`).
 */
export type ApiErrorKind =
  | 'unreachable'
  | 'unauthorized'
  | 'forbidden'
  | 'notFound'
  | 'conflict'
  | 'tooLarge'
  | 'busy'
  | 'rejected'
  | 'server';

/** Its `message` is for people: `readable`. The texts of `messages` are as the server wrote them. */
export class ApiError extends Error {
  readonly kind: ApiErrorKind;
  readonly status: number;
  readonly messages: ServerMessage[];
  /** Seconds after which the server wants to be asked again; null where it did not say. */
  readonly retryAfter: number | null;

  constructor(
    kind: ApiErrorKind,
    status: number,
    messages: ServerMessage[],
    retryAfter: number | null = null,
  ) {
    const text = messages.map((message) => readable(message.text)).join('\n');
    super(text || `the server answered ${status}`);
    this.name = 'ApiError';
    this.kind = kind;
    this.status = status;
    this.messages = messages;
    this.retryAfter = retryAfter;
  }
}

export function errorKind(status: number): ApiErrorKind {
  if (status === 401) return 'unauthorized';
  if (status === 403) return 'forbidden';
  if (status === 404 || status === 410) return 'notFound';
  if (status === 409) return 'conflict';
  if (status === 413) return 'tooLarge';
  if (status === 429 || status === 503) return 'busy';
  if (status >= 500) return status === 502 || status === 504 ? 'unreachable' : 'server';
  return 'rejected';
}

/** The messages of an answer that is no success. */
export function refusalMessages(status: number, statusText: string, text: string): ServerMessage[] {
  try {
    const messages = decodeMessages(asObject(JSON.parse(text)).messages);
    if (messages.length > 0) return messages;
  } catch {
    // Not JSON: a proxy's page, or nothing.
  }
  const fallback = `the server answered ${status} ${statusText}`.trim();
  return [{ type: 'ERROR', text: fallback }];
}

export function apiErrorOf(
  status: number,
  statusText: string,
  text: string,
  retryAfter: string | null,
): ApiError {
  const after = Number(retryAfter ?? 'NaN');
  return new ApiError(
    errorKind(status),
    status,
    refusalMessages(status, statusText, text),
    Number.isFinite(after) ? after : null,
  );
}

/** A request for rows and its answer, where it is read: in the worker, or in the page where there is none. */

import { type Columns, columnsOf } from './columns';

export interface RowsRequest {
  url: string;
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  /** A form; null without one. */
  body: string | null;
  credentials: RequestCredentials;
}

export type RowsAnswer =
  | { kind: 'rows'; columns: Columns }
  /** The server answered something else: as text, for whoever explains it. */
  | { kind: 'refused'; status: number; statusText: string; retryAfter: string | null; text: string }
  | { kind: 'garbled'; status: number }
  /** There was no answer. */
  | { kind: 'lost' };

export async function readRows(request: RowsRequest, signal: AbortSignal): Promise<RowsAnswer> {
  const { url, method, body, credentials } = request;
  const headers: Record<string, string> = { ...request.headers };
  if (body !== null) headers['Content-Type'] = 'application/x-www-form-urlencoded;charset=UTF-8';
  const response = await fetch(url, {
    method,
    headers,
    body,
    credentials,
    signal,
    cache: 'no-store',
  });
  const text = await response.text();
  if (!response.ok) {
    const retryAfter = response.headers.get('Retry-After');
    const { status, statusText } = response;
    return { kind: 'refused', status, statusText, retryAfter, text };
  }
  if (text === '') return { kind: 'rows', columns: columnsOf({}) };
  try {
    return { kind: 'rows', columns: columnsOf(JSON.parse(text)) };
  } catch {
    return { kind: 'garbled', status: response.status };
  }
}

/**
 * Who is logged in. The session itself is a cookie that no script reads, so new tabs have it, too; the page
 * asks the server whose it is.
 */

import type { KarstClient } from '../api/client';

export interface Session {
  username: string;
  /** Empty, unless the browser takes no cookies: then the key is in the memory of this tab alone. */
  sessionKey: string;
}

/** The session of this browser's cookie. */
export async function currentSession(
  client: KarstClient,
  signal?: AbortSignal,
): Promise<Session | null> {
  const { user } = await client.welcome(signal);
  return user === null ? null : { username: user, sessionKey: '' };
}

/** Logs in, and makes sure that the browser has taken the cookie. */
export async function openSession(
  client: KarstClient,
  username: string,
  password: string,
): Promise<Session> {
  const key = await client.login(username, password);
  const session = await currentSession(client).catch(() => null);
  return session ?? { username, sessionKey: key };
}

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
  newPassword = '',
): Promise<Session> {
  const key = await client.login(username, password, newPassword);
  const session = await currentSession(client).catch(() => null);
  return session ?? { username, sessionKey: key };
}

const BACK = 'karst.back';

/** Remembers the address while an identity provider logs the user in. */
export function rememberAddress(): void {
  sessionStorage.setItem(BACK, window.location.pathname + window.location.search);
}

/** The address from before such a login, once, if the page is at the beginning. */
export function addressBefore(): string | null {
  const address = sessionStorage.getItem(BACK);
  sessionStorage.removeItem(BACK);
  const isOwn = address?.startsWith('/') && !address.startsWith('//');
  return isOwn && window.location.pathname === '/' ? address : null;
}

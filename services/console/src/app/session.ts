/** Who is logged in, for as long as the browser tab lives. */

const KEY = 'karst.session';

export interface Session {
  username: string;
  /** Empty where the session is in a cookie, as after a login at an identity provider. */
  sessionKey: string;
}

export function readSession(): Session | null {
  try {
    const parsed = JSON.parse(sessionStorage.getItem(KEY) ?? 'null') as Partial<Session> | null;
    if (typeof parsed?.username !== 'string' || typeof parsed.sessionKey !== 'string') return null;
    return { username: parsed.username, sessionKey: parsed.sessionKey };
  } catch {
    return null;
  }
}

export function writeSession(session: Session | null): void {
  if (session) sessionStorage.setItem(KEY, JSON.stringify(session));
  else sessionStorage.removeItem(KEY);
}

/** The whole page: the login form without a session, else the frame with the view of the address. */

import { QueryClientProvider } from '@tanstack/react-query';
import { startTransition, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { KarstClient } from '../api/client';
import { ConnectionContext } from './clientContext';
import { Frame } from './Frame';
import { LoginPage } from './LoginPage';
import { newQueries } from './queries';
import { navigate } from './routing';
import { addressBefore, currentSession, type Session } from './session';

/** Milliseconds that signing out waits for the server. */
const SIGN_OUT_PATIENCE = 3_000;

export function App() {
  /** Undefined until the server has said whose the cookie is. */
  const [session, setSession] = useState<Session | null | undefined>(undefined);
  const [notice, setNotice] = useState<string | null>(null);
  const current = useRef<Session | null | undefined>(undefined);
  // Nothing that one user was shown stays for the next.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another user is the reason
  const queries = useMemo(newQueries, [session?.username]);

  const change = useCallback((next: Session | null, reason: string | null) => {
    current.current = next;
    setSession(next);
    setNotice(reason);
  }, []);

  const client = useMemo(() => {
    const onSessionExpired = () => {
      // A late answer to an earlier session must not end the one of now.
      if (!session || current.current !== session) return;
      change(null, 'Your session has expired. Sign in to continue.');
    };
    return new KarstClient({ sessionKey: session?.sessionKey, onSessionExpired });
  }, [session, change]);

  useEffect(() => {
    if (session !== undefined) return;
    const controller = new AbortController();
    currentSession(client, controller.signal).then(
      (found) => {
        const back = found && addressBefore();
        if (back) navigate(back, { replace: true });
        // The whole page is drawn bit by bit, and keys are answered in between.
        startTransition(() => change(found, null));
      },
      () => !controller.signal.aborted && change(null, null),
    );
    return () => controller.abort();
  }, [client, session, change]);

  const connection = useMemo(
    () => (session ? { client, username: session.username, sessionKey: session.sessionKey } : null),
    [client, session],
  );

  const signOut = async () => {
    // Leaving does not depend on the server: a session it cannot end now ends by itself. The login page
    // comes after the answer, as it asks whose session the cookie is.
    const next = await client.logout(AbortSignal.timeout(SIGN_OUT_PATIENCE)).catch(() => null);
    change(null, null);
    if (next) window.location.assign(next);
  };

  if (session === undefined) return null;
  if (!connection) {
    return <LoginPage client={client} notice={notice} onLogin={(next) => change(next, null)} />;
  }
  return (
    <QueryClientProvider client={queries}>
      <ConnectionContext value={connection}>
        <Frame onSignOut={signOut} />
      </ConnectionContext>
    </QueryClientProvider>
  );
}

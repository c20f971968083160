/**
 * The whole page: the login form without a session, else the frame with the view of the address, which stays below
 * the login dialog after the end of the session.
 */

import { QueryClientProvider } from '@tanstack/react-query';
import { startTransition, useEffect, useMemo, useState } from 'react';
import { KarstClient } from '../api/client';
import { ConnectionContext } from './clientContext';
import { Frame } from './Frame';
import { LoginDialog, LoginPage } from './LoginPage';
import { newQueries } from './queries';
import { Renewal } from './renewal';
import { navigate } from './routing';
import { addressBefore, currentSession, type Session } from './session';

/** Milliseconds that signing out waits for the server. */
const SIGN_OUT_PATIENCE = 3_000;

export function App() {
  /** Undefined until the server has said whose the cookie is. */
  const [session, setSession] = useState<Session | null | undefined>(undefined);
  const [told, setTold] = useState<string | null>(null);

  useEffect(() => {
    if (session !== undefined) return;
    const controller = new AbortController();
    currentSession(NOBODY, controller.signal).then(
      (found) => {
        const back = found && addressBefore();
        if (back) navigate(back, { replace: true });
        // The whole page is drawn bit by bit, and keys are answered in between.
        startTransition(() => setSession(found));
      },
      () => !controller.signal.aborted && setSession(null),
    );
    return () => controller.abort();
  }, [session]);

  const signedOut = (message: string | null) => {
    setTold(message);
    setSession(null);
  };

  if (session === undefined) return null;
  if (!session) return <LoginPage client={NOBODY} onLogin={setSession} told={told} />;
  return <SignedIn first={session} onSignedOut={signedOut} />;
}

/** Asks without a session, and waits for none. */
const NOBODY = new KarstClient();

interface SignedInProps {
  /** The session that the page began with. Later ones are of the same user. */
  first: Session;
  /** `told`: where the session is still valid; null if nowhere. */
  onSignedOut: (told: string | null) => void;
}

function SignedIn({ first, onSignedOut }: SignedInProps) {
  const { username } = first;
  const [session, setSession] = useState(first);
  const [isEnded, setEnded] = useState(false);
  const [isOther, setOther] = useState(false);
  // Nothing that one user was shown stays for the next: both live as long as the page of one user.
  const [queries] = useState(newQueries);
  const [renewal] = useState(
    () =>
      new Renewal({
        session: first,
        whose: () => currentSession(NOBODY),
        onChange: setEnded,
        onOther: () => setOther(true),
      }),
  );
  const { sessionKey } = session;
  const connection = useMemo(() => {
    const client = new KarstClient({ sessionKey, renew: renewal.renew });
    return { client, username, sessionKey, renewal };
  }, [sessionKey, username, renewal]);

  // After the page is gone, which would ask whether it may lose what is not saved.
  useEffect(() => {
    if (isOther) window.location.reload();
  }, [isOther]);

  const signOut = async () => {
    // Leaving does not depend on the server: a session it cannot end now ends by itself. The login page
    // comes after the answer, as it asks whose session the cookie is.
    const signal = AbortSignal.timeout(SIGN_OUT_PATIENCE);
    const next = await connection.client.logout(signal).catch(() => null);
    onSignedOut(next?.told ?? null);
    if (next?.redirect) window.location.assign(next.redirect);
  };
  const signIn = (next: Session) => {
    if (next.username === username) setSession(next);
    renewal.begin(next);
  };

  if (isOther) return null;
  return (
    <QueryClientProvider client={queries}>
      <ConnectionContext value={connection}>
        <Frame onSignOut={signOut} />
      </ConnectionContext>
      <LoginDialog
        opened={isEnded}
        user={username}
        client={NOBODY}
        look={renewal.look}
        onLogin={signIn}
      />
    </QueryClientProvider>
  );
}

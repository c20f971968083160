/** The whole page: the login form without a session, else the header and the page of the address. */

import { useCallback, useEffect, useMemo, useState } from 'react';
import { KarstClient } from '../api/client';
import type { ServerInfo } from '../api/types';
import { ClusterPage } from '../cluster/ClusterPage';
import { dashboardOf } from '../dashboards/routes';
import { SearchPage } from '../search/SearchPage';
import { Header } from './Header';
import { LoginPage } from './LoginPage';
import { readSession, type Session, writeSession } from './session';

/** Milliseconds that signing out waits for the server. */
const SIGN_OUT_PATIENCE = 3_000;

export function App() {
  const [session, setSession] = useState<Session | null>(readSession);
  const [notice, setNotice] = useState<string | null>(null);

  const change = useCallback((next: Session | null, reason: string | null) => {
    writeSession(next);
    setSession(next);
    setNotice(reason);
  }, []);

  const client = useMemo(() => {
    const sessionKey = session?.sessionKey;
    const onSessionExpired = () => {
      // A late answer to an earlier session must not end the one of now.
      if (sessionKey !== readSession()?.sessionKey) return;
      change(null, 'Your session has expired. Sign in to go on.');
    };
    return new KarstClient({ sessionKey, onSessionExpired });
  }, [session, change]);

  useEffect(() => {
    if (session || notice !== null) return;
    // Somebody who comes back from an identity provider has the session in a cookie.
    const controller = new AbortController();
    client.welcome(controller.signal).then(
      ({ user }) => user !== null && change({ username: user, sessionKey: '' }, null),
      () => {},
    );
    return () => controller.abort();
  }, [client, session, notice, change]);

  const signOut = async () => {
    // Leaving does not depend on the server: a session it cannot end now ends by itself. The login page
    // comes after the answer, as it asks whose session the cookie is.
    const next = await client.logout(AbortSignal.timeout(SIGN_OUT_PATIENCE)).catch(() => null);
    change(null, null);
    if (next) window.location.assign(next);
  };

  if (!session) {
    return <LoginPage client={client} notice={notice} onLogin={(next) => change(next, null)} />;
  }
  return <SignedIn client={client} username={session.username} onSignOut={signOut} />;
}

interface SignedInProps {
  client: KarstClient;
  username: string;
  onSignOut: () => void;
}

function SignedIn({ client, username, onSignOut }: SignedInProps) {
  const [server, setServer] = useState<ServerInfo | null>(null);
  const page = window.location.pathname;

  useEffect(() => {
    const controller = new AbortController();
    client.serverInfo(controller.signal).then(setServer, () => setServer(null));
    return () => controller.abort();
  }, [client]);

  return (
    <>
      <Header server={server} page={page} username={username} onSignOut={onSignOut} />
      {dashboardOf(page) ??
        (page === '/cluster' ? <ClusterPage client={client} /> : <SearchPage client={client} />)}
    </>
  );
}

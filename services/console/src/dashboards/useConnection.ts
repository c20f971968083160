/** Where dashboards find who is logged in, and their calls to the server. */

import { useMemo } from 'react';
import { useConnection as useSession } from '../app/clientContext';
import { type DashboardServer, dashboardServer } from './runtime/server';

export interface DashboardConnection {
  username: string;
  server: DashboardServer;
  /** Whether the session has ended: what is asked waits for the next login. */
  isEnded: () => boolean;
}

export function useConnection(): DashboardConnection {
  const { username, sessionKey, renewal } = useSession();
  return useMemo(
    () => ({
      username,
      server: dashboardServer({ username, sessionKey, renew: renewal.renew }),
      isEnded: () => renewal.isEnded,
    }),
    [username, sessionKey, renewal],
  );
}

/** Where dashboards find who is logged in, and their calls to the server. */

import { useMemo } from 'react';
import { useConnection as useSession } from '../app/clientContext';
import { type DashboardServer, dashboardServer } from './runtime/server';

export interface DashboardConnection {
  username: string;
  server: DashboardServer;
}

export function useConnection(): DashboardConnection {
  const { username, sessionKey } = useSession();
  return useMemo(
    () => ({ username, server: dashboardServer({ username, sessionKey }) }),
    [username, sessionKey],
  );
}

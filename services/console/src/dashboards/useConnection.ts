/** Where dashboards find who is logged in: the one place that knows how the console keeps its session. */

import { useMemo } from 'react';
import { readSession } from '../app/session';
import { type DashboardServer, dashboardServer } from './runtime/server';

export interface DashboardConnection {
  username: string;
  server: DashboardServer;
}

export function useConnection(): DashboardConnection {
  const session = readSession();
  const [username, sessionKey] = [session?.username ?? 'nobody', session?.sessionKey ?? ''];
  return useMemo(
    () => ({ username, server: dashboardServer({ username, sessionKey }) }),
    [username, sessionKey],
  );
}

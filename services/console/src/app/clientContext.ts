/** The door to the server and the user behind it, for every part of the page. */

import { useQuery } from '@tanstack/react-query';
import { createContext, useContext } from 'react';
import type { KarstClient } from '../api/client';
import type { AppInfo, Me } from '../api/types';
import type { Renewal } from './renewal';

interface Connection {
  client: KarstClient;
  username: string;
  /** Empty where the session is a cookie. */
  sessionKey: string;
  renewal: Renewal;
}

export const ConnectionContext = createContext<Connection | null>(null);

export function useConnection(): Connection {
  const connection = useContext(ConnectionContext);
  if (!connection) throw new Error('a part of the page is used outside the session');
  return connection;
}

export const useClient = (): KarstClient => useConnection().client;

function useMeQuery() {
  const { client, username } = useConnection();
  return useQuery({
    queryKey: ['me', username],
    queryFn: ({ signal }) => client.me(signal),
    staleTime: 60_000,
  });
}

/** The user's capabilities; null until they are known. */
export const useMe = (): Me | null => useMeQuery().data ?? null;

/** Whether the user is known, or cannot be asked for. */
export const useIsMeSettled = (): boolean => !useMeQuery().isPending;

/** The first of the capabilities that the user lacks; null if there is none, undefined until that is known. */
export function useLacking(...needed: string[]): string | null | undefined {
  const { data, error } = useMeQuery();
  return lackingOf(data, error, needed);
}

/** If the user's capabilities cannot be asked for, nothing is lacking: the server decides. */
export function lackingOf(me: Me | undefined, error: unknown, needed: readonly string[]) {
  if (!me) return error ? null : undefined;
  return needed.find((one) => !me.capabilities.has(one)) ?? null;
}

/** The apps of the server; none for a user who may not list them. `all` has those that nobody opens, too. */
export function useApps() {
  const client = useClient();
  const lacking = useLacking('rest_apps_view');
  const { data: all, error } = useQuery({
    queryKey: ['apps'],
    enabled: lacking === null,
    queryFn: ({ signal }) => client.apps(signal),
    staleTime: 60_000,
  });
  return { apps: all?.filter(({ isShown }) => isShown), all, error, lacking: lacking ?? null };
}

/** Whether the user may add objects to an app that others see. */
export const useMayShare = (app: string): boolean => mayShare(useApps().all, app);

/** Of an app that is not listed, the server decides. */
export const mayShare = (all: readonly AppInfo[] | undefined, app: string): boolean =>
  all?.find(({ name }) => name === app)?.canWrite ?? true;

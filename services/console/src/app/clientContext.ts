/** The door to the server and the user behind it, for every part of the page. */

import { useQuery } from '@tanstack/react-query';
import { createContext, useContext } from 'react';
import type { KarstClient } from '../api/client';
import type { Me } from '../api/types';

interface Connection {
  client: KarstClient;
  username: string;
  /** Empty where the session is a cookie. */
  sessionKey: string;
}

export const ConnectionContext = createContext<Connection | null>(null);

export function useConnection(): Connection {
  const connection = useContext(ConnectionContext);
  if (!connection) throw new Error('a part of the page is used outside the session');
  return connection;
}

export const useClient = (): KarstClient => useConnection().client;

/** The user's capabilities; null until they are known. */
export function useMe(): Me | null {
  const { client, username } = useConnection();
  const { data } = useQuery({
    queryKey: ['me', username],
    queryFn: ({ signal }) => client.me(signal),
    staleTime: 60_000,
  });
  return data ?? null;
}

/** Asks once where this process receives events, for all pages that need it. */

import { useQuery } from '@tanstack/react-query';
import { useClient, useLacking } from '../app/clientContext';
import { type Addresses, decodeAddresses } from './addresses';

interface Asked {
  addresses: Addresses | null;
  error: unknown;
  /** The capability that the user lacks to ask. */
  lacking: string | null | undefined;
  isWaiting: boolean;
}

/** `isWanted`: whether the page needs an answer. */
export function useAddresses(isWanted = true): Asked {
  const client = useClient();
  const lacking = useLacking('list_inputs');
  const { data, error } = useQuery({
    queryKey: ['addresses'],
    enabled: isWanted && lacking === null,
    queryFn: async ({ signal }) =>
      decodeAddresses(await client.get('/api/v1/addresses', {}, signal)),
  });
  return { addresses: data ?? null, error, lacking, isWaiting: !data && !error && !lacking };
}

/** Indexers that are taken out of the cluster, with what each still has, and a way to keep it. */

import { Button } from '@mantine/core';
import type { Peer } from '../api/types';
import { useClient } from '../app/clientContext';
import { FormError } from '../app/FormError';
import { Notice } from '../app/Notice';
import { useSubmit } from '../app/useSubmit';
import { keep, type Leaving, leavingText } from './offline';
import { nameOf } from './rollingRestart';

interface LeavingProgressProps {
  leaving: Leaving[];
  peers: Peer[];
  mayCancel: boolean;
  onCancelled: () => void;
}

export function LeavingProgress({ leaving, peers, mayCancel, onCancelled }: LeavingProgressProps) {
  const client = useClient();
  const { busy, error, submit } = useSubmit();
  const cancel = async (id: string) => {
    if (await submit(() => keep(client, id))) onCancelled();
  };
  return (
    <>
      <FormError error={error} />
      {leaving.map((one) => (
        <Notice key={one.id} kind={one.isStopped ? 'warning' : 'info'}>
          <span data-testid="leaving">{leavingText(peers, one)}</span>{' '}
          {mayCancel && !one.stops && (
            <Button
              size="compact-xs"
              variant="default"
              loading={busy}
              aria-label={`Keep ${nameOf(peers, one.id)}`}
              onClick={() => cancel(one.id)}
            >
              Keep it
            </Button>
          )}
        </Notice>
      ))}
    </>
  );
}

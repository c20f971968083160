/** Shows what a dry run of the server says of taking an indexer out, and takes it out. */

import { Checkbox } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError } from '../api/client';
import type { Peer } from '../api/types';
import { ConfirmDialog } from '../app/ConfirmDialog';
import { useClient } from '../app/clientContext';
import { plural } from '../app/format';
import { Notice } from '../app/Notice';
import { Skeleton } from '../states/Skeleton';
import styles from './ClusterPage.module.css';
import { planOffline, takeOut } from './offline';
import { confirmationOf, labelOf } from './rollingRestart';

interface OfflineDialogProps {
  peer: Peer;
  peers: Peer[];
  onStarted: () => void;
  onClose: () => void;
}

export function OfflineDialog({ peer, peers, onStarted, onClose }: OfflineDialogProps) {
  const client = useClient();
  const [isForced, setForced] = useState(false);
  const plan = useQuery({
    queryKey: ['offline-plan', peer.id],
    queryFn: () => planOffline(client, peer.id),
    retry: false,
    gcTime: 0,
  });
  const start = async () => {
    // By its ID: names of processes are not unique.
    await takeOut(client, peer.id, isForced);
    onStarted();
  };
  // Who is being taken out already, or does not answer: the server says it.
  const refusal = plan.error instanceof ApiError ? plan.error.message : null;
  return (
    <ConfirmDialog
      title={`Take ${labelOf(peers, peer)} out of the cluster?`}
      action="Take out"
      isDangerous
      isAdvised={false}
      typed={confirmationOf(peers, peer)}
      testId="offline-form"
      onConfirm={start}
      onClose={onClose}
    >
      <p>
        Its hot buckets are uploaded to object storage, and its copies of journals are moved to
        other indexers. Then it stops and leaves the list. Searches stay complete, and no
        acknowledged event is lost.
      </p>
      <section className={styles.plan} aria-label="Dry run" aria-live="polite">
        <h3>Dry run</h3>
        {plan.isFetching && <Skeleton lines={1} />}
        {refusal && <Notice kind="error">{refusal}</Notice>}
        {plan.data && plan.data.left > 0 && (
          <p>{plural(plan.data.left, 'indexer')} would remain.</p>
        )}
        {plan.data?.left === 0 && (
          <Notice kind="warning">
            No indexer would remain: nothing accepts events until one is started.
          </Notice>
        )}
        {plan.data?.objection && (
          <>
            <Notice kind="warning">{plan.data.objection}</Notice>
            <Checkbox
              size="xs"
              label="Take it out anyway"
              checked={isForced}
              onChange={(event) => setForced(event.currentTarget.checked)}
            />
          </>
        )}
      </section>
    </ConfirmDialog>
  );
}

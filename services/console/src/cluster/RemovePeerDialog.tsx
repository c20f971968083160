/** Asks before a process that does not answer is removed from the list, and says what is given up. */

import type { Peer } from '../api/types';
import { ConfirmDialog } from '../app/ConfirmDialog';
import { useClient } from '../app/clientContext';
import styles from './ClusterPage.module.css';
import { confirmationOf, labelOf, lossOf, removePeer } from './rollingRestart';

interface RemovePeerDialogProps {
  peer: Peer;
  peers: Peer[];
  onRemoved: () => void;
  onClose: () => void;
}

export function RemovePeerDialog({ peer, peers, onRemoved, onClose }: RemovePeerDialogProps) {
  const client = useClient();
  const remove = async () => {
    // By its ID: names of processes are not unique.
    await removePeer(client, peer.id);
    onRemoved();
  };
  return (
    <ConfirmDialog
      title={`Remove ${labelOf(peers, peer)} from the cluster?`}
      action="Remove"
      isDangerous
      isAdvised={false}
      typed={confirmationOf(peers, peer)}
      testId="remove-peer-form"
      onConfirm={remove}
      onClose={onClose}
    >
      <p>
        {peer.roles.join(', ')} at {peer.address}. Remove it if it does not come back: nothing
        restarts while it is in the list and does not answer.
      </p>
      <ul className={styles.losses} data-testid="loss">
        {lossOf(peer).map((loss) => (
          <li key={loss}>{loss}</li>
        ))}
      </ul>
    </ConfirmDialog>
  );
}

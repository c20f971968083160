/** Asks before a process that does not answer is removed from the list, and says what is given up. */

import { Button, Modal, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { ApiError } from '../api/client';
import type { Peer } from '../api/types';
import { useClient } from '../app/clientContext';
import { Notice } from '../app/Notice';
import objects from '../objects/Objects.module.css';
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
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const confirmation = confirmationOf(peers, peer);
  const isConfirmed = typed.trim() === confirmation;

  const remove = async (event: FormEvent) => {
    event.preventDefault();
    if (!isConfirmed) return;
    setBusy(true);
    setError(null);
    try {
      // By its ID: names of processes are not unique.
      await removePeer(client, peer.id);
      onRemoved();
      onClose();
    } catch (failure) {
      setError(failure instanceof ApiError ? failure : new ApiError('server', 0, []));
      setBusy(false);
    }
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Remove ${labelOf(peers, peer)} from the cluster?`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form className={objects.form} onSubmit={remove} data-testid="remove-peer-form">
        {error && <Notice kind="error">{error.message}</Notice>}
        <p>
          {peer.roles.join(', ')} at {peer.address}. Remove it if it does not come back: nothing
          restarts while it is in the list and does not answer.
        </p>
        <ul className={styles.losses} data-testid="loss">
          {lossOf(peer).map((loss) => (
            <li key={loss}>{loss}</li>
          ))}
        </ul>
        <TextInput
          label={`Type ${confirmation} to confirm`}
          data-autofocus
          autoComplete="off"
          value={typed}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <div className={objects.buttons}>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button color="red" type="submit" loading={busy} disabled={!isConfirmed}>
            Remove
          </Button>
        </div>
      </form>
    </Modal>
  );
}

/** Asks before an object is removed, and says what is lost. */

import { Button, Modal, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError } from '../api/client';
import { explainError } from '../api/explain';
import type { Entry } from '../api/types';
import { useClient } from '../app/clientContext';
import { Notice } from '../app/Notice';
import type { Kind } from './kind';
import styles from './Objects.module.css';

interface RemoveDialogProps {
  kind: Kind;
  entry: Entry;
  onClose: () => void;
}

export function RemoveDialog({ kind, entry, onClose }: RemoveDialogProps) {
  const client = useClient();
  const queries = useQueryClient();
  const [typed, setTyped] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const isConfirmed = !kind.isRemovalTyped || typed.trim() === entry.name;

  const remove = async (event: FormEvent) => {
    event.preventDefault();
    if (!isConfirmed) return;
    setBusy(true);
    try {
      await client.removeObject(kind.removal?.(entry) ?? entry.path);
      await queries.invalidateQueries({ queryKey: ['objects', kind.path] });
      await queries.invalidateQueries({ queryKey: ['options'] });
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
      title={`Remove the ${kind.noun} ${entry.name}?`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form className={styles.form} onSubmit={remove} data-testid="remove-form">
        {error && (
          <Notice kind="error">{`${error.message}\n${explainError(error).advice}`.trim()}</Notice>
        )}
        <p data-testid="loss">{kind.loss(entry)}</p>
        {kind.isRemovalTyped && (
          <TextInput
            label={`Type ${entry.name} to confirm`}
            data-autofocus
            autoComplete="off"
            value={typed}
            onChange={(event) => setTyped(event.currentTarget.value)}
          />
        )}
        <div className={styles.buttons}>
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

/** Asks before an object is removed, and says what is lost. */

import { useQueryClient } from '@tanstack/react-query';
import type { Entry } from '../api/types';
import { ConfirmDialog } from '../app/ConfirmDialog';
import { useClient } from '../app/clientContext';
import type { Kind } from './kind';

interface RemoveDialogProps {
  kind: Kind;
  entry: Entry;
  onClose: () => void;
}

export function RemoveDialog({ kind, entry, onClose }: RemoveDialogProps) {
  const client = useClient();
  const queries = useQueryClient();
  const remove = async () => {
    await client.removeObject(kind.removal?.(entry) ?? entry.path);
    await queries.invalidateQueries({ queryKey: ['objects', kind.path] });
    await queries.invalidateQueries({ queryKey: ['options'] });
  };
  return (
    <ConfirmDialog
      title={`Remove the ${kind.noun} ${entry.name}?`}
      action="Remove"
      isDangerous
      typed={kind.isRemovalTyped ? entry.name : undefined}
      testId="remove-form"
      onConfirm={remove}
      onClose={onClose}
    >
      <p data-testid="loss">{kind.loss(entry)}</p>
    </ConfirmDialog>
  );
}

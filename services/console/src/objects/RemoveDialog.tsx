/** Asks before an object is removed, and says what is lost. */

import type { Entry } from '../api/types';
import { useClient } from '../app/clientContext';
import { RemovalDialog } from '../app/RemovalDialog';
import type { Kind } from './kind';

interface RemoveDialogProps {
  kind: Kind;
  entry: Entry;
  onClose: () => void;
}

export function RemoveDialog({ kind, entry, onClose }: RemoveDialogProps) {
  const client = useClient();
  return (
    <RemovalDialog
      title={`Delete the ${kind.noun} ${entry.name}?`}
      typed={kind.isRemovalTyped ? entry.name : undefined}
      testId="remove-form"
      remove={() => client.removeObject(kind.removal?.(entry) ?? entry.path)}
      lists={[['objects', kind.path], ['options']]}
      onClose={onClose}
    >
      <p data-testid="loss">{kind.loss(entry)}</p>
    </RemovalDialog>
  );
}

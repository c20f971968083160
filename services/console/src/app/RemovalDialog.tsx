/** Asks before something of a list is removed, says what is lost, and reads the list again. */

import { type QueryKey, useQueryClient } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ConfirmDialog } from './ConfirmDialog';

interface RemovalDialogProps {
  title: string;
  action?: string;
  /** What has to be typed; nothing if it is left out. */
  typed?: string | undefined;
  testId: string;
  remove: () => Promise<unknown>;
  /** Lists that had it. */
  lists: readonly QueryKey[];
  onClose: () => void;
  children: ReactNode;
}

export function RemovalDialog(props: RemovalDialogProps) {
  const { action = 'Delete', remove, lists, ...shown } = props;
  const queries = useQueryClient();
  const confirm = async () => {
    await remove();
    await Promise.all(lists.map((queryKey) => queries.invalidateQueries({ queryKey })));
  };
  return <ConfirmDialog {...shown} action={action} isDangerous onConfirm={confirm} />;
}

/** Who sees and changes a knowledge object. */

import { Button, Radio } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import type { Entry } from '../api/types';
import { useClient } from '../app/clientContext';
import { FormError } from '../app/FormError';
import { Modal } from '../app/Modal';
import { RoleRights } from '../app/RoleRights';
import { useSubmit } from '../app/useSubmit';
import { useOptions } from './FormFields';
import type { Kind } from './kind';
import styles from './Objects.module.css';

interface ShareDialogProps {
  kind: Kind;
  entry: Entry;
  onClose: () => void;
}

export function ShareDialog({ kind, entry, onClose }: ShareDialogProps) {
  const client = useClient();
  const queries = useQueryClient();
  const roles = useOptions({ name: 'roles', label: 'Roles', kind: 'checks', source: 'roles' });
  const [sharing, setSharing] = useState(entry.sharing === 'system' ? 'global' : entry.sharing);
  const [readers, setReaders] = useState(entry.readers.length > 0 ? entry.readers : ['*']);
  const [writers, setWriters] = useState(
    entry.writers.length > 0 ? entry.writers : ['admin', 'power'],
  );
  const { busy, error, submit } = useSubmit();
  const { path, note } = kind.permissions?.(entry) ?? { path: entry.path, note: null };

  const save = async (event: FormEvent) => {
    event.preventDefault();
    const form: Record<string, string> = { sharing, owner: entry.owner };
    if (sharing !== 'user') {
      form['perms.read'] = readers.join(',');
      form['perms.write'] = writers.join(',');
    }
    const isSaved = await submit(async () => {
      await client.change(`${path}/acl`, form);
      // Objects of other kinds may have the same permissions.
      await queries.invalidateQueries({
        queryKey: note === null ? ['objects', kind.path] : ['objects'],
      });
    });
    if (isSaved) onClose();
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={`Permissions of ${entry.name}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form className={styles.form} onSubmit={save} data-testid="share-form">
        <FormError error={error} />
        {note !== null && <p>{note}</p>}
        <Radio.Group label="Seen by" value={sharing} onChange={setSharing}>
          <div className={styles.buttons}>
            <Radio value="user" label={`${entry.owner} alone`} />
            <Radio value="app" label={`Users of the app ${entry.app}`} />
            <Radio value="global" label="Users of all apps" />
          </div>
        </Radio.Group>
        {sharing !== 'user' && (
          <RoleRights
            roles={roles.map((role) => role.value)}
            readers={readers}
            writers={writers}
            onReaders={setReaders}
            onWriters={setWriters}
          />
        )}
        <div className={styles.buttons}>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={busy}>
            Save
          </Button>
        </div>
      </form>
    </Modal>
  );
}

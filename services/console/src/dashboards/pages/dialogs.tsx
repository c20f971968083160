/** The dialogs of the list of dashboards, and those of the editor. */

import { Button, Group, Radio, Stack, TextInput } from '@mantine/core';
import { type FormEvent, useEffect, useState } from 'react';
import type { ApiError } from '../../api/client';
import { useMayShare } from '../../app/clientContext';
import { Modal } from '../../app/Modal';
import { Notice } from '../../app/Notice';
import { RoleRights } from '../../app/RoleRights';
import type { ViewInfo } from '../runtime/server';
import { useConnection } from '../useConnection';
import { emptyDashboard, idOf, isId } from './newDashboard';
import { relabelled } from './relabelled';

interface CreateDialogProps {
  app: string;
  /** The one that is cloned. */
  source: ViewInfo | null;
  onClose: () => void;
}

export function CreateDialog({ app, source, onClose }: CreateDialogProps) {
  const { server } = useConnection();
  const canShare = useMayShare(app);
  const [title, setTitle] = useState(source ? `${source.label} clone` : '');
  const [id, setId] = useState(source ? `${source.name}_clone` : '');
  const [isOwnId, setOwnId] = useState(source !== null);
  const [description, setDescription] = useState(source?.description ?? '');
  const [sharing, setSharing] = useState('user');
  const [error, setError] = useState<ApiError | null>(null);
  const [isSaving, setSaving] = useState(false);
  const name = isOwnId ? id : idOf(title);
  const isValid = isId(name);

  const create = async (event: FormEvent) => {
    event.preventDefault();
    setSaving(true);
    setError(null);
    try {
      const text = source ? relabelled(source.text, title) : emptyDashboard(title, description);
      await server.createView(app, name, text);
      if (sharing === 'app') {
        const view = await server.readView(app, name);
        await server.shareView(view, { sharing: 'app', read: ['*'], write: ['admin', 'power'] });
      }
      window.location.assign(
        `/app/${encodeURIComponent(app)}/${encodeURIComponent(name)}${source ? '' : '/edit'}`,
      );
    } catch (problem) {
      setError(problem as ApiError);
      setSaving(false);
    }
  };
  return (
    <Modal opened onClose={onClose} title={source ? `Clone ${source.label}` : 'Create dashboard'}>
      <form onSubmit={(event) => void create(event)}>
        <Stack gap="sm">
          <TextInput
            label="Title"
            required
            data-autofocus
            value={title}
            onChange={(event) => setTitle(event.currentTarget.value)}
          />
          <TextInput
            label="Id"
            description="Its address; letters, digits, _ - ."
            required
            value={name}
            error={name !== '' && !isValid ? 'letters, digits, _ - . only' : null}
            onChange={(event) => {
              setOwnId(true);
              setId(event.currentTarget.value);
            }}
          />
          {!source && (
            <TextInput
              label="Description"
              value={description}
              onChange={(event) => setDescription(event.currentTarget.value)}
            />
          )}
          <Radio.Group label="Permissions" value={sharing} onChange={setSharing}>
            <Group gap="lg" mt={4}>
              <Radio value="user" label="Private" />
              <Radio value="app" label="Shared in the app" disabled={!canShare} />
            </Group>
          </Radio.Group>
          {error && <Notice kind="error">{error.message}</Notice>}
          <Buttons
            label={source ? 'Clone' : 'Create'}
            isSaving={isSaving}
            isDisabled={!isValid || title.trim() === ''}
            onClose={onClose}
          />
        </Stack>
      </form>
    </Modal>
  );
}

interface ButtonsProps {
  label: string;
  isSaving: boolean;
  isDisabled: boolean;
  onClose: () => void;
  color?: string;
}

function Buttons({ label, isSaving, isDisabled, onClose, color }: ButtonsProps) {
  return (
    <Group justify="flex-end" gap="xs">
      <Button variant="default" onClick={onClose}>
        Cancel
      </Button>
      <Button type="submit" color={color} loading={isSaving} disabled={isDisabled}>
        {label}
      </Button>
    </Group>
  );
}

interface ViewDialogProps {
  view: ViewInfo;
  onClose: () => void;
  onDone: () => void;
}

export function DeleteDialog({ view, onClose, onDone }: ViewDialogProps) {
  const { server } = useConnection();
  const [error, setError] = useState<ApiError | null>(null);
  const [isSaving, setSaving] = useState(false);
  const remove = (event: FormEvent) => {
    event.preventDefault();
    setSaving(true);
    server.deleteView(view).then(onDone, (problem: ApiError) => {
      setError(problem);
      setSaving(false);
    });
  };
  return (
    <Modal opened onClose={onClose} title="Delete dashboard">
      <form onSubmit={remove}>
        <Stack gap="sm">
          <p>
            Delete <strong>{view.label}</strong> ({view.name})? It cannot be restored. If a file of
            the app has the same id, that one is shown again.
          </p>
          {error && <Notice kind="error">{error.message}</Notice>}
          <Buttons
            label="Delete"
            color="red"
            isSaving={isSaving}
            isDisabled={false}
            onClose={onClose}
          />
        </Stack>
      </form>
    </Modal>
  );
}

export function PermissionsDialog({ view, onClose, onDone }: ViewDialogProps) {
  const { server } = useConnection();
  const [sharing, setSharing] = useState(view.sharing === 'system' ? 'global' : view.sharing);
  const [roles, setRoles] = useState<string[]>([]);
  const [readers, setReaders] = useState(view.readers.length > 0 ? view.readers : ['*']);
  const [writers, setWriters] = useState(
    view.writers.length > 0 ? view.writers : ['admin', 'power'],
  );
  const [error, setError] = useState<ApiError | null>(null);
  const [isSaving, setSaving] = useState(false);

  useEffect(() => {
    server.listRoles().then(setRoles, () => setRoles([]));
  }, [server]);

  const save = (event: FormEvent) => {
    event.preventDefault();
    setSaving(true);
    const permissions = {
      sharing: sharing as 'user' | 'app' | 'global',
      read: readers,
      write: writers,
    };
    server.shareView(view, permissions).then(onDone, (problem: ApiError) => {
      setError(problem);
      setSaving(false);
    });
  };
  return (
    <Modal opened onClose={onClose} title={`Permissions of ${view.label}`} size="lg">
      <form onSubmit={save}>
        <Stack gap="sm">
          <Radio.Group label="Seen in" value={sharing} onChange={setSharing}>
            <Group gap="lg" mt={4}>
              <Radio value="user" label="Private" />
              <Radio value="app" label="This app" />
              <Radio value="global" label="All apps" />
            </Group>
          </Radio.Group>
          {sharing !== 'user' && (
            <RoleRights
              roles={roles}
              readers={readers}
              writers={writers}
              onReaders={setReaders}
              onWriters={setWriters}
            />
          )}
          {error && <Notice kind="error">{error.message}</Notice>}
          <Buttons label="Save" isSaving={isSaving} isDisabled={false} onClose={onClose} />
        </Stack>
      </form>
    </Modal>
  );
}

interface ConflictDialogProps {
  name: string;
  onOverwrite: () => void;
  onShow: () => void;
  onClose: () => void;
}

/** Somebody else has saved the dashboard that is edited. The server does not record who. */
export function ConflictDialog({ name, onOverwrite, onShow, onClose }: ConflictDialogProps) {
  return (
    <Modal opened onClose={onClose} title="Changed by somebody else">
      <Stack gap="sm" data-testid="conflict">
        <p>
          <strong>{name}</strong> was changed since you opened it, in another session. Your changes
          are not saved.
        </p>
        <Group justify="flex-end" gap="xs">
          <Button variant="default" data-autofocus onClick={onClose}>
            Cancel
          </Button>
          <Button variant="default" onClick={onShow}>
            Discard mine and show theirs
          </Button>
          <Button color="red" onClick={onOverwrite}>
            Overwrite theirs
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}

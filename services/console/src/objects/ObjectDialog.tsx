/** The form of a new or an existing object. */

import { Button, Modal, Switch } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { namespaced } from '../api/client';
import type { Entry } from '../api/types';
import { useConnection, useMayShare, useMe } from '../app/clientContext';
import { FormError } from '../app/FormError';
import { Notice } from '../app/Notice';
import { useSubmit } from '../app/useSubmit';
import { useUnsaved } from '../app/useUnsaved';
import { Secret } from './Copyable';
import { FormFields } from './FormFields';
import { fieldsOf, formOf, initialValues, isFilledIn, problemsOf } from './form';
import type { Kind } from './kind';
import styles from './Objects.module.css';

interface ObjectDialogProps {
  kind: Kind;
  app: string;
  /** Null for a new one. */
  entry: Entry | null;
  onClose: () => void;
}

/** Whether the server lets the object be changed here: what is built in is not. */
export const isChangeable = (kind: Kind, entry: Entry): boolean =>
  entry.canWrite && entry.path !== '' && !(kind.isOfApps && entry.app === 'system');

export function ObjectDialog({ kind, app, entry, onClose }: ObjectDialogProps) {
  const { client, username } = useConnection();
  const queries = useQueryClient();
  const me = useMe();
  const canShare = useMayShare(app);
  const fields = fieldsOf(kind.fields, me, entry);
  const [values, setValues] = useState(() => initialValues(fields, entry));
  const [isShared, setShared] = useState(false);
  const [isTried, setTried] = useState(false);
  const { busy, error, submit } = useSubmit();
  const [secret, setSecret] = useState<ReturnType<NonNullable<Kind['secret']>>>(null);
  const problems = isTried ? problemsOf(fields, values) : new Map<string, string>();
  const isReadOnly = entry !== null && !isChangeable(kind, entry);
  const title = entry ? `${capital(kind.noun)} ${entry.name}` : `New ${kind.noun}`;
  const isChanged = secret === null && isFilledIn(fields, values, entry);
  const { release, question } = useUnsaved(
    isChanged,
    `The values of the form "${title}" are not saved.`,
  );

  const save = async (event: FormEvent) => {
    event.preventDefault();
    setTried(true);
    if (problemsOf(fields, values).size > 0) return;
    const form = formOf(fields, values, entry);
    if (entry && Object.keys(form).length === 0) {
      onClose();
      return;
    }
    await submit(async () => {
      const collection = kind.isOfApps
        ? namespaced({ owner: isShared ? 'nobody' : username, app }, kind.path)
        : kind.path;
      const request = kind.request?.(form, entry) ?? { path: entry?.path ?? collection, form };
      const [made] = await client.change(request.path, request.form);
      await queries.invalidateQueries({ queryKey: ['objects', kind.path] });
      await queries.invalidateQueries({ queryKey: ['options'] });
      const shown = entry === null && made ? (kind.secret?.(made) ?? null) : null;
      release();
      if (shown) setSecret(shown);
      else onClose();
    });
  };

  const known = entry ? (kind.secret?.(entry) ?? null) : null;
  return (
    <>
      <Modal
        opened
        onClose={onClose}
        title={title}
        size="lg"
        closeOnEscape={question === null}
        closeButtonProps={{ 'aria-label': 'Close' }}
      >
        {secret ? (
          <div className={styles.form} data-testid="made">
            <p>{secret.note}</p>
            <Secret label={secret.label} value={secret.value} />
            <div className={styles.buttons}>
              <Button onClick={onClose}>Done</Button>
            </div>
          </div>
        ) : (
          <form className={styles.form} onSubmit={save} data-testid="object-form" noValidate>
            {isReadOnly && (
              <Notice kind="info">
                This {kind.noun} is built in, or you may not change it. It is shown read-only.
              </Notice>
            )}
            <FormError error={error} />
            {known && <Secret label={known.label} value={known.value} />}
            <FormFields
              fields={fields}
              values={values}
              problems={problems}
              isReadOnly={isReadOnly}
              onChange={(name, value) => setValues((now) => ({ ...now, [name]: value }))}
            />
            {entry === null && kind.isOfApps && canShare && (
              <Switch
                size="xs"
                label={`For everybody who uses the app ${app}`}
                checked={isShared}
                onChange={(event) => setShared(event.currentTarget.checked)}
              />
            )}
            <div className={styles.buttons}>
              <Button variant="default" onClick={onClose}>
                {isReadOnly ? 'Close' : 'Cancel'}
              </Button>
              {!isReadOnly && (
                <Button type="submit" loading={busy}>
                  {entry ? 'Save' : 'Create'}
                </Button>
              )}
            </div>
          </form>
        )}
      </Modal>
      {question}
    </>
  );
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

/** The form of a new or an existing object. */

import { Button, Switch } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { type ApiError, namespaced } from '../api/client';
import type { Entry } from '../api/types';
import { useConnection, useMayShare, useMe } from '../app/clientContext';
import { FormError } from '../app/FormError';
import { Modal } from '../app/Modal';
import { Notice } from '../app/Notice';
import { useSubmit } from '../app/useSubmit';
import { useUnsaved } from '../app/useUnsaved';
import { Secret } from './Copyable';
import { FormFields } from './FormFields';
import { changedMeanwhile, fieldsOf, formOf, initialValues, isFilledIn, problemsOf } from './form';
import type { Kind, Values } from './kind';
import styles from './Objects.module.css';
import { refusedField } from './refusal';

interface ObjectDialogProps {
  kind: Kind;
  app: string;
  /** Null for a new one. */
  entry: Entry | null;
  /** Values of a new one. */
  given?: Values;
  onClose: () => void;
  /** After a new one was created, instead of `onClose`. */
  onMade?: (values: Values) => void;
}

/** Whether the server lets the object be changed here: what is built in is not. */
export const isChangeable = (kind: Kind, entry: Entry): boolean =>
  entry.canWrite && entry.path !== '' && !(kind.isOfApps && entry.app === 'system');

export function ObjectDialog({ kind, app, entry: opened, given, ...props }: ObjectDialogProps) {
  const { onClose, onMade } = props;
  const { client, username } = useConnection();
  const queries = useQueryClient();
  const me = useMe();
  const canShare = useMayShare(app);
  /** The object as the form was filled from it: the list may be read again meanwhile. */
  const [entry, setEntry] = useState(opened);
  /** The object as somebody else has saved it, while the user is asked. */
  const [theirs, setTheirs] = useState<{ entry: Entry; labels: string[] } | null>(null);
  const fields = fieldsOf(kind.fields, me, entry);
  const [before, setBefore] = useState(() => ({ ...initialValues(fields, entry), ...given }));
  const [values, setValues] = useState<Values>(before);
  const [isShared, setShared] = useState(false);
  const [isTried, setTried] = useState(false);
  const { busy, error, submit } = useSubmit();
  const [secret, setSecret] = useState<ReturnType<NonNullable<Kind['secret']>>>(null);
  /** The refusal whose field has got another value since. */
  const [mended, setMended] = useState<ApiError | null>(null);
  /** The values as they were refused: a field keeps its message's place while it is changed. */
  const [sent, setSent] = useState<Values>({});
  const refused = error && refusedField(fields, error.message, sent);
  const found = () => problemsOf(fields, values, entry && before);
  const problems = isTried ? found() : new Map<string, string>();
  if (refused && error !== mended) problems.set(refused.name, refused.text);
  const form = useRef<HTMLFormElement>(null);
  const focus = (name: string) =>
    form.current?.querySelector<HTMLElement>(`[name="${CSS.escape(name)}"]`)?.focus();
  const isReadOnly = entry !== null && !isChangeable(kind, entry);
  const title = entry ? `${capital(kind.noun)} ${entry.name}` : `New ${kind.noun}`;
  const isChanged = secret === null && isFilledIn(fields, values, before);
  const { ask, release, question } = useUnsaved(
    isChanged,
    `The values of the form "${title}" are not saved.`,
  );
  // Released first: a page that goes to another address then would ask again.
  const closeUnsaved = () => {
    release();
    onClose();
  };
  const leave = () => (isChanged ? ask(closeUnsaved) : onClose());

  /** `known`: what may be overwritten. */
  const save = async (event: FormEvent | null, known = entry) => {
    event?.preventDefault();
    setTried(true);
    setTheirs(null);
    const [wrong] = found().keys();
    if (wrong !== undefined) {
      focus(wrong);
      return;
    }
    const changes = formOf(fields, values, entry);
    if (entry && Object.keys(changes).length === 0) {
      onClose();
      return;
    }
    setSent(values);
    await submit(async () => {
      const now = known && (await read(known));
      const others = known && now ? changedMeanwhile(fields, changes, known, now) : [];
      if (now && others.length > 0) {
        setTheirs({ entry: now, labels: others.map(({ label }) => label) });
        return;
      }
      const collection = kind.isOfApps
        ? namespaced({ owner: isShared ? 'nobody' : username, app }, kind.path)
        : kind.path;
      const path = entry?.path ?? collection;
      // What is overwritten is the object as others have saved it.
      const request = kind.request?.(changes, known, path) ?? {
        path,
        form: entry ? changes : { ...kind.more, ...changes },
      };
      const [made] = await client.change(request.path, request.form);
      await queries.invalidateQueries({ queryKey: ['objects', kind.path] });
      await queries.invalidateQueries({ queryKey: ['options'] });
      // The own zone and rights may be among what has changed.
      void queries.invalidateQueries({ queryKey: ['me'] });
      const shown = entry === null && made ? (kind.secret?.(made) ?? null) : null;
      release();
      if (shown) setSecret(shown);
      else if (entry === null && onMade) onMade(values);
      else onClose();
    });
  };

  const refusedName = refused?.name;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each refusal
  useEffect(() => {
    if (refusedName !== undefined) focus(refusedName);
  }, [error]);

  const read = async ({ path, name }: Entry) =>
    (await client.entries(path)).find((one) => one.path === path && one.name === name);
  const take = (next: Entry) => {
    setEntry(next);
    const now = initialValues(fields, next);
    setBefore(now);
    setValues(now);
    setTheirs(null);
  };

  const known = entry ? (kind.secret?.(entry) ?? null) : null;
  return (
    <>
      <Modal
        opened
        onClose={leave}
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
          <form
            className={styles.form}
            onSubmit={save}
            ref={form}
            data-testid="object-form"
            noValidate
          >
            {isReadOnly && (
              <Notice kind="info">
                This {kind.noun} is built in, or you may not change it. It is shown read-only.
              </Notice>
            )}
            <FormError error={refused ? null : error} />
            {known && <Secret label={known.label} value={known.value} />}
            <FormFields
              fields={fields}
              app={entry?.app ?? app}
              values={values}
              problems={problems}
              isReadOnly={isReadOnly}
              onChange={(name, value) => {
                if (refused?.name === name) setMended(error);
                setValues((now) => ({ ...now, [name]: value }));
              }}
            />
            {entry === null && kind.isOfApps && canShare && (
              <Switch
                size="xs"
                label={`For everybody who uses the app ${app}`}
                checked={isShared}
                onChange={(event) => setShared(event.currentTarget.checked)}
              />
            )}
            {theirs && (
              <Conflict
                noun={kind.noun}
                labels={theirs.labels}
                onOverwrite={() => void save(null, theirs.entry)}
                onTake={() => take(theirs.entry)}
              />
            )}
            <div className={styles.buttons}>
              <Button variant="default" onClick={leave}>
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

interface ConflictProps {
  noun: string;
  labels: string[];
  onOverwrite: () => void;
  onTake: () => void;
}

/** Somebody else has saved the object. The server does not record who. */
function Conflict({ noun, labels, onOverwrite, onTake }: ConflictProps) {
  return (
    <Notice
      kind="warning"
      action={
        <div className={styles.buttons}>
          <Button size="compact-xs" variant="default" onClick={onTake}>
            Load the new version
          </Button>
          <Button size="compact-xs" color="red" onClick={onOverwrite}>
            Overwrite
          </Button>
        </div>
      }
    >
      {`This ${noun} was changed since you opened it: ${labels.join(', ')}. Your changes are not saved.`}
    </Notice>
  );
}

const capital = (text: string) => text.charAt(0).toUpperCase() + text.slice(1);

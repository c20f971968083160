/** Applies an archive of apps, or rolls back: each after a dry run of the server that shows what it changes. */

import { Button, Checkbox, FileButton } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useRef, useState } from 'react';
import { explainError } from '../api/explain';
import { useClient } from '../app/clientContext';
import { Modal } from '../app/Modal';
import { Notice } from '../app/Notice';
import { asApiError, useSubmit } from '../app/useSubmit';
import objects from '../objects/Objects.module.css';
import { Skeleton } from '../states/Skeleton';
import { BundlePlan } from './BundlePlan';
import {
  applyBundle,
  type Bundle,
  FORCE,
  failureText,
  filesOf,
  identityOf,
  needsForce,
  type Plan,
  planRollback,
  rollBack,
  validateBundle,
} from './bundle';
import styles from './ClusterPage.module.css';

/** What a bundle does that changes nothing. */
const UNCHANGED =
  'If it is applied nevertheless, the active bundle also becomes the previous one, and the one before can no longer be restored.';

interface DialogProps {
  /** The dry run is repeated if another one is applied meanwhile. */
  active: Bundle | null;
  /** Also after a failure, where it is not known whether something changed. */
  onChanged: () => void;
  onClose: () => void;
}

export function ApplyDialog({ active, onChanged, onClose }: DialogProps) {
  const client = useClient();
  const [chosen, setChosen] = useState<{ file: File; at: number } | null>(null);
  const reset = useRef<() => void>(null);
  const choose = (file: File | null) => {
    if (!file) return;
    setChosen((before) => ({ file, at: (before?.at ?? 0) + 1 }));
    // The same file may be chosen again after it was corrected.
    reset.current?.();
  };
  const file = chosen?.file;
  return (
    <Modal
      opened
      onClose={onClose}
      size="xl"
      title="Apply a configuration bundle"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <div className={objects.form}>
        <p>
          A .tgz, .tar.gz or .tar archive with a directory for each app, such as of{' '}
          <code>cd manager-apps &amp;&amp; tar czf ../bundle.tgz *</code>. Apps of the active bundle
          that are not in the archive are removed. <code>karst cluster bundle apply DIR</code> does
          the same with a directory, and sends only files that differ.
        </p>
        <div className={objects.secret}>
          <FileButton onChange={choose} resetRef={reset} accept=".tgz,.gz,.tar">
            {(props) => (
              <Button variant="default" {...props}>
                Choose an archive …
              </Button>
            )}
          </FileButton>
          <span role="status">{file ? file.name : 'No file is chosen'}</span>
        </div>
        <ChangeForm
          // Another file is another dry run, to which an error or a consent of before does not belong.
          key={chosen?.at ?? 0}
          name={`apply ${chosen?.at ?? 0}`}
          active={active}
          action="Apply"
          force={FORCE.apply}
          unchanged={active && UNCHANGED}
          testId="bundle-form"
          plan={file ? (signal) => validateBundle(client, file, signal) : null}
          change={async (isForced) => file && applyBundle(client, file, isForced)}
          onChanged={onChanged}
          onClose={onClose}
        />
      </div>
    </Modal>
  );
}

export function RollbackDialog(props: DialogProps & { previous: Bundle }) {
  const { active, previous, onChanged, onClose } = props;
  const client = useClient();
  return (
    <Modal
      opened
      onClose={onClose}
      size="xl"
      title="Roll back to the previous bundle?"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <div className={objects.form}>
        <p>
          The apps of the previous bundle take effect in all processes, as one change. A second
          rollback returns to the bundle that is active now.
        </p>
        <ChangeForm
          name={`rollback ${identityOf(previous)}`}
          active={active}
          action="Roll back"
          force={FORCE.rollback}
          unchanged={null}
          testId="rollback-form"
          plan={() => planRollback(client)}
          change={() => rollBack(client)}
          onChanged={onChanged}
          onClose={onClose}
        />
      </div>
    </Modal>
  );
}

interface ChangeFormProps extends DialogProps {
  /** What is planned, as part of a key. */
  name: string;
  /** The button: a verb. */
  action: string;
  /** The checkbox for a bundle with mistakes. */
  force: string;
  /** What it does if no file is changed. */
  unchanged: string | null;
  testId: string;
  /** The dry run; null until there is something to plan. */
  plan: ((signal: AbortSignal) => Promise<Plan>) | null;
  change: (isForced: boolean) => Promise<unknown>;
}

function ChangeForm({ active, name, plan: load, change, ...props }: ChangeFormProps) {
  const { action, force, unchanged, testId, onChanged, onClose } = props;
  const { busy, error, submit } = useSubmit();
  const before = identityOf(active);
  /** The bundle that was active as the mistakes were accepted: they may be others after another one. */
  const [accepted, setAccepted] = useState<string | null>(null);
  const plan = useQuery({
    queryKey: ['bundle-plan', name, before],
    queryFn: ({ signal }) => (load as NonNullable<typeof load>)(signal),
    enabled: load !== null && !busy,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    gcTime: 0,
  });
  const found = plan.isFetching || plan.error ? undefined : plan.data;
  const isForced = accepted === before;
  const isReady = found !== undefined && (isForced || !needsForce(found));
  const start = async (event: FormEvent) => {
    event.preventDefault();
    if (!isReady) return;
    const isDone = await submit(() => change(isForced));
    onChanged();
    if (isDone) onClose();
  };
  const failure = plan.error && !plan.isFetching ? asApiError(plan.error) : null;
  return (
    <form className={objects.form} onSubmit={start} data-testid={testId} noValidate>
      {error && <Notice kind="error">{failureText(error, false)}</Notice>}
      <section className={styles.plan} aria-label="Dry run" aria-live="polite">
        <h3>Dry run</h3>
        {plan.isFetching && <Skeleton lines={3} />}
        {failure && (
          <Notice
            kind="error"
            action={
              explainError(failure).retry && (
                <Button size="compact-xs" variant="default" onClick={() => void plan.refetch()}>
                  Try again
                </Button>
              )
            }
          >
            {failureText(failure, true)}
          </Notice>
        )}
        {found && <BundlePlan plan={found} />}
        {found && unchanged && filesOf(found).length === 0 && <p>{unchanged}</p>}
        {found && needsForce(found) && (
          <Checkbox
            size="xs"
            label={force}
            checked={isForced}
            onChange={(event) => setAccepted(event.currentTarget.checked ? before : null)}
          />
        )}
      </section>
      <div className={objects.buttons}>
        <Button variant="default" onClick={onClose}>
          Cancel
        </Button>
        <Button type="submit" loading={busy} disabled={!isReady}>
          {action}
        </Button>
      </div>
    </form>
  );
}

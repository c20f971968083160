/** Plans a rolling restart by a dry run of the server, and starts what the plan shows. */

import { Button, Checkbox, NativeSelect, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { ApiError } from '../api/client';
import { explainError } from '../api/explain';
import type { Peer } from '../api/types';
import { useClient } from '../app/clientContext';
import { FormError } from '../app/FormError';
import { plural } from '../app/format';
import { Modal } from '../app/Modal';
import { Notice } from '../app/Notice';
import { useSubmit } from '../app/useSubmit';
import objects from '../objects/Objects.module.css';
import { Skeleton } from '../states/Skeleton';
import styles from './ClusterPage.module.css';
import {
  awayOf,
  DEFAULT_PERCENT,
  FORCE,
  labelOf,
  nameOf,
  percentOf,
  RESTARTED_ROLES,
  type RestartedRole,
  type RestartRequest,
  refusalText,
  requestRestart,
  wavesOf,
} from './rollingRestart';

const ROLES = [
  { value: 'indexer', label: 'Indexers' },
  { value: 'search-head', label: 'Search heads' },
];

/** What a restart of processes with a role means for those who use them. */
const EFFECTS: Record<RestartedRole, string> = {
  indexer:
    'An indexer uploads its events to object storage before it restarts, so searches stay complete. Meanwhile, /readyz directs its senders to other indexers.',
  'search-head':
    'Search jobs end with their search head. This page is served by a search head, and is not available while that one restarts.',
};

interface RestartDialogProps {
  peers: Peer[];
  onStarted: () => void;
  onClose: () => void;
}

export function RestartDialog({ peers, onStarted, onClose }: RestartDialogProps) {
  const client = useClient();
  const [role, setRole] = useState<RestartedRole>('indexer');
  const [typed, setTyped] = useState('');
  const [isForced, setForced] = useState(false);
  const { busy, error, submit } = useSubmit();
  const percent = percentOf(typed);
  const request: RestartRequest | null = percent === undefined ? null : { role, percent, isForced };

  const plan = useQuery({
    queryKey: ['restart-plan', request],
    queryFn: () => requestRestart(client, request as RestartRequest, true),
    enabled: request !== null,
    retry: false,
    gcTime: 0,
  });

  const start = async (event: FormEvent) => {
    event.preventDefault();
    if (!request || !plan.data) return;
    if (await submit(() => requestRestart(client, request, false))) {
      onStarted();
      onClose();
    }
  };

  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title="Rolling restart"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form className={objects.form} onSubmit={start} data-testid="restart-form" noValidate>
        <NativeSelect
          label="Processes"
          data={ROLES}
          value={role}
          onChange={(event) =>
            setRole(RESTARTED_ROLES.find((one) => one === event.currentTarget.value) ?? 'indexer')
          }
        />
        <p className={objects.help}>{EFFECTS[role]}</p>
        <TextInput
          label="Percentage that restarts at the same time"
          description={`At least one. Empty: percent_peers_to_restart of the leading control plane, ${DEFAULT_PERCENT} % by default.`}
          inputMode="numeric"
          value={typed}
          error={request ? null : 'a whole number from 1 to 100, or empty'}
          onChange={(event) => setTyped(event.currentTarget.value)}
        />
        <Checkbox
          size="xs"
          label={FORCE}
          checked={isForced}
          onChange={(event) => setForced(event.currentTarget.checked)}
        />
        <FormError error={error} />
        <section className={styles.plan} aria-label="Dry run" aria-live="polite">
          <h3>Dry run</h3>
          {plan.isFetching && <Skeleton lines={2} />}
          {!plan.isFetching && plan.error instanceof ApiError && (
            <Blocked error={plan.error} peers={peers} />
          )}
          {!plan.isFetching && plan.data && (
            <Plan order={plan.data} peers={peers} percent={percent ?? null} />
          )}
        </section>
        <div className={objects.buttons}>
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
          <Button type="submit" loading={busy} disabled={!plan.data || plan.isFetching}>
            {plan.data ? `Restart ${plural(plan.data.length, 'process')}` : 'Restart'}
          </Button>
        </div>
      </form>
    </Modal>
  );
}

function Blocked({ error, peers }: { error: ApiError; peers: Peer[] }) {
  const { advice } = explainError(error);
  return (
    <div data-testid="restart-blocked">
      <Notice kind="warning">
        {/* A conflict has no other name to choose: the server says what blocks the restart. */}
        {error.kind === 'conflict' || error.kind === 'notFound'
          ? `It cannot start: ${refusalText(error.message, peers)}`
          : `${error.message}\n${advice}`.trim()}
      </Notice>
    </div>
  );
}

interface PlanProps {
  order: string[];
  peers: Peer[];
  percent: number | null;
}

function Plan({ order, peers, percent }: PlanProps) {
  const waves = wavesOf(order, percent ?? DEFAULT_PERCENT);
  const size = waves[0]?.length ?? 1;
  const away = awayOf(peers);
  return (
    <div data-testid="restart-plan">
      <p>
        {plural(order.length, 'process')}, at most {size} away at a time
        {percent === null && ` (if percent_peers_to_restart is ${DEFAULT_PERCENT})`}. The next one
        restarts as soon as one is back.
      </p>
      <ol>
        {waves.map((wave) => (
          <li key={wave.join()}>{wave.map((id) => nameOf(peers, id)).join(', ')}</li>
        ))}
      </ol>
      {away.length > 0 && (
        <Notice kind="warning">
          {`It starts and then waits: ${away.map((peer) => labelOf(peers, peer)).join(', ')} ${
            away.length === 1 ? 'does' : 'do'
          } not answer, and nothing restarts until ${
            away.length === 1 ? 'it is' : 'they are'
          } back or removed.`}
        </Notice>
      )}
    </div>
  );
}

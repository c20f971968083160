/**
 * `/monitor/bundle`: the configuration bundle that is active, the one that a rollback restores, and which processes
 * use the latest apps. A bundle is applied and rolled back here. Looks again every few seconds.
 */

import { Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useClient, useMe } from '../app/clientContext';
import { Notice } from '../app/Notice';
import { useZone } from '../app/preferences';
import { asApiError } from '../app/useSubmit';
import { useTitle } from '../app/useTitle';
import { Empty } from '../states/Empty';
import { Failed } from '../states/Failed';
import { NotAllowed } from '../states/NotAllowed';
import { Skeleton } from '../states/Skeleton';
import { StaleStripe } from '../states/Stripe';
import { formatEpoch } from '../time/zone';
import bundleStyles from './Bundle.module.css';
import { ApplyDialog, RollbackDialog } from './BundleDialogs';
import {
  appsText,
  type Bundle,
  type BundleState,
  bundleState,
  isArriving,
  shortOf,
  usageText,
  type Version,
  versionOf,
} from './bundle';
import styles from './ClusterPage.module.css';
import { labelOf } from './rollingRestart';

/** Milliseconds between two looks, and while a change reaches the processes. */
const EVERY = 5_000;
const EVERY_WHEN_BUSY = 2_000;
/** What the server asks for: to see it, and to change it. */
const SEES = 'list_settings';
const CHANGES = 'edit_local_apps';

export default function BundlePage() {
  useTitle('Configuration bundle');
  const client = useClient();
  const queries = useQueryClient();
  const me = useMe();
  const [dialog, setDialog] = useState<'apply' | 'rollback' | null>(null);
  const lacks = me !== null && !me.capabilities.has(SEES);
  const { data, error, isPending, dataUpdatedAt, refetch } = useQuery<BundleState>({
    queryKey: ['bundle'],
    enabled: !lacks,
    refetchInterval: ({ state }) =>
      state.data && isArriving(state.data) ? EVERY_WHEN_BUSY : EVERY,
    queryFn: ({ signal }) => bundleState(client, signal),
  });
  const mayChange = me?.capabilities.has(CHANGES) ?? false;
  const again = () => void queries.invalidateQueries({ queryKey: ['bundle'] });
  const close = () => setDialog(null);
  const failure = error && asApiError(error);
  if (lacks || (failure?.kind === 'forbidden' && !data)) return <NotAllowed capability={SEES} />;
  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <h1>Configuration bundle</h1>
        {data && mayChange && (
          <div className={styles.tools}>
            {data.previous && (
              <Button
                size="xs"
                variant="default"
                data-testid="plan-rollback"
                onClick={() => setDialog('rollback')}
              >
                Roll back …
              </Button>
            )}
            <Button
              size="xs"
              variant="default"
              data-testid="plan-bundle"
              onClick={() => setDialog('apply')}
            >
              Apply a bundle …
            </Button>
          </div>
        )}
      </header>
      <p className={styles.last}>
        A bundle changes several apps at once, in all processes and without a restart. Apps that
        were installed one by one stay, unless the bundle has an app of the same name.
      </p>
      {failure &&
        (data ? (
          <StaleStripe
            since={dataUpdatedAt}
            reason={failure.message}
            onRetry={() => void refetch()}
          />
        ) : (
          <Failed error={failure} onRetry={() => void refetch()} />
        ))}
      {isPending && !failure && <Skeleton lines={4} />}
      {data && <Bundles state={data} />}
      {data && <Processes state={data} />}
      {data && me && !mayChange && (
        <p className={styles.last} data-testid="no-control">
          Applying a bundle and rolling back require a role with the capability{' '}
          <code>{CHANGES}</code>.
        </p>
      )}
      {data && dialog === 'apply' && (
        <ApplyDialog active={data.active} onChanged={again} onClose={close} />
      )}
      {data?.previous && dialog === 'rollback' && (
        <RollbackDialog
          active={data.active}
          previous={data.previous}
          onChanged={again}
          onClose={close}
        />
      )}
    </div>
  );
}

function Bundles({ state: { active, previous } }: { state: BundleState }) {
  if (!active) {
    return (
      <Empty title="No bundle has been applied" testId="no-bundle">
        <p>
          Apply an archive of a directory that has a directory for each app here, or run{' '}
          <code>karst cluster bundle apply DIR</code>.
        </p>
      </Empty>
    );
  }
  return (
    <div className={bundleStyles.pair}>
      <BundleView title="Active bundle" bundle={active} testId="active-bundle" />
      {previous ? (
        <BundleView
          title="Previous bundle, which a rollback restores"
          bundle={previous}
          testId="previous-bundle"
        />
      ) : (
        <p className={styles.last}>There is no previous bundle.</p>
      )}
    </div>
  );
}

interface BundleViewProps {
  title: string;
  bundle: Bundle;
  testId: string;
}

function BundleView({ title, bundle, testId }: BundleViewProps) {
  const [zone] = useZone();
  const { apps, checksum, applied, by } = bundle;
  return (
    <section className={styles.restart} aria-label={title} data-testid={testId}>
      <h2>{title}</h2>
      <dl>
        <dt>Apps</dt>
        <dd>{appsText(apps)}</dd>
        <dt>Checksum</dt>
        <dd title={checksum}>
          <code>{shortOf(checksum)}</code>
        </dd>
        <dt>Applied</dt>
        <dd>
          {applied === null
            ? 'not as a bundle: these apps were installed before the first one'
            : `${formatEpoch(applied, zone)} by ${by}`}
        </dd>
      </dl>
    </section>
  );
}

/** Next to the checksum of a process. */
const USES: Record<Version, string> = {
  same: 'the latest',
  other: 'not the latest',
  away: 'as last known; it uses the latest when it answers again',
};

function Processes({ state }: { state: BundleState }) {
  const { peers, latest } = state;
  if (peers.length === 0) {
    return (
      <Notice kind="info">
        This server does not belong to a cluster: it is the only process that uses the bundle.
      </Notice>
    );
  }
  return (
    <>
      <p className={styles.summary} role="status" data-testid="bundle-usage">
        {usageText(state)}. Checksum of all installed apps:{' '}
        <code title={latest}>{shortOf(latest) || 'unknown'}</code>
      </p>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard */}
      <section className={styles.scroll} tabIndex={0} aria-label="Processes">
        <table className={styles.table} data-testid="bundle-peers">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">Roles</th>
              <th scope="col">Status</th>
              <th scope="col">Installed apps</th>
            </tr>
          </thead>
          <tbody>
            {peers.map((peer) => {
              const version = versionOf(peer, latest);
              return (
                <tr key={peer.id} data-status={peer.status} data-version={version}>
                  <td title={peer.id}>{labelOf(peers, peer)}</td>
                  <td>{peer.roles.join(', ')}</td>
                  <td>
                    <span className={styles.status}>{peer.status}</span>
                    {peer.reason && <div className={styles.reason}>{peer.reason}</div>}
                  </td>
                  <td title={peer.appsChecksum}>
                    <code>{shortOf(peer.appsChecksum) || 'unknown'}</code>{' '}
                    <span className={version === 'other' ? styles.behind : undefined}>
                      {USES[version]}
                    </span>
                  </td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </section>
    </>
  );
}

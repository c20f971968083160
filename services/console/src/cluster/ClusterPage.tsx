/**
 * The processes of the cluster, whether each of them answers, and what is done with them: rolling restarts,
 * maintenance mode, taking an indexer out, and the removal of one that does not come back. Looks again every few
 * seconds.
 */

import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import type { KarstClient } from '../api/client';
import type { Peer } from '../api/types';
import { useMe } from '../app/clientContext';
import { Notice } from '../app/Notice';
import { PageLink } from '../app/PageLink';
import { paths } from '../app/routing';
import { useTitle } from '../app/useTitle';
import objects from '../objects/Objects.module.css';
import { useLoaded } from '../search/useLoaded';
import { Failed } from '../states/Failed';
import { NotAllowed } from '../states/NotAllowed';
import { Skeleton } from '../states/Skeleton';
import { StaleStripe } from '../states/Stripe';
import styles from './ClusterPage.module.css';
import { LeavingProgress } from './LeavingProgress';
import { type ClusterLoad, clusterLoad, loadOf, type PeerLoad, recoveriesOf } from './load';
import { MaintenanceDialog } from './MaintenanceDialog';
import { MAINTAINED } from './maintenance';
import { OfflineDialog } from './OfflineDialog';
import { decodeLeaving, mayLeave } from './offline';
import {
  hasSites,
  haveOtherApps,
  mayBeRemoved,
  type PeerRow,
  rowsOf,
  summaryOf,
  withRestarting,
} from './peers';
import { RemovePeerDialog } from './RemovePeerDialog';
import { RestartDialog } from './RestartDialog';
import { RestartProgress } from './RestartProgress';
import { clusterState, labelOf } from './rollingRestart';

/** Milliseconds between two looks, and while processes restart or leave. */
const EVERY = 5_000;
const EVERY_WHEN_BUSY = 2_000;
/** Between two looks at the load: a process writes of it every 30 s. */
const LOAD_EVERY = 15_000;
/** What the server asks for: to see the cluster, and to change it. */
const SEES = 'list_settings';
const CHANGES = 'edit_server';

export function ClusterPage({ client }: { client: KarstClient }) {
  useTitle('Cluster');
  const me = useMe();
  const [look, setLook] = useState(0);
  const again = () => setLook((before) => before + 1);
  const [isPlanning, setPlanning] = useState(false);
  /** What maintenance mode is changed to; null without a change. */
  const [maintained, setMaintained] = useState<boolean | null>(null);
  const [removed, setRemoved] = useState<Peer | null>(null);
  const [taken, setTaken] = useState<Peer | null>(null);
  /** All processes that the page has seen, by their IDs: one that restarts is not in the list. */
  const known = useRef(new Map<string, Peer>());
  const { value, error } = useLoaded('cluster', String(look), async (signal) => {
    const [listed, state] = await Promise.all([client.peers(signal), clusterState(client, signal)]);
    const { restart, isMaintained } = state;
    for (const peer of listed) known.current.set(peer.id, peer);
    const peers = withRestarting(
      listed,
      known.current,
      restart.isRunning ? restart.restarting : [],
    );
    const leaving = decodeLeaving(state.leaving);
    return { peers, restart, leaving, isMaintained, at: Date.now() };
  });
  const isRestarting = value?.restart.isRunning ?? false;
  const isBusy = isRestarting || (value?.leaving.length ?? 0) > 0;
  useEffect(() => {
    const every = isBusy ? EVERY_WHEN_BUSY : EVERY;
    const timer = setInterval(() => setLook((before) => before + 1), every);
    return () => clearInterval(timer);
  }, [isBusy]);

  const rows = value && rowsOf(value.peers);
  const mayChange = me?.capabilities.has(CHANGES) ?? false;
  const isCluster = rows !== null && rows.length > 0;
  const { data: load } = useQuery({
    queryKey: ['cluster', 'load'],
    enabled: isCluster,
    refetchInterval: LOAD_EVERY,
    queryFn: ({ signal }) => clusterLoad(client, signal),
  });
  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <h1>Cluster</h1>
        {isCluster && value && mayChange && (
          <div className={styles.tools}>
            <Button
              size="xs"
              variant="default"
              data-testid="change-maintenance"
              onClick={() => setMaintained(!value.isMaintained)}
            >
              {value.isMaintained ? 'End maintenance mode …' : 'Maintenance mode …'}
            </Button>
            {!isRestarting && (
              <Button
                size="xs"
                variant="default"
                data-testid="plan-restart"
                onClick={() => setPlanning(true)}
              >
                Rolling restart …
              </Button>
            )}
          </div>
        )}
      </header>
      {error &&
        (error.kind === 'forbidden' && !value ? (
          <NotAllowed capability={SEES} />
        ) : value ? (
          <StaleStripe since={value.at} reason={error.message} onRetry={again} />
        ) : (
          <Failed error={error} onRetry={again} />
        ))}
      {!rows && !error && <Skeleton lines={4} />}
      {rows && !isCluster && (
        <Notice kind="info">
          This server has all roles and does not belong to a cluster: it was started without
          --cluster-address. Rolling restarts and the removal of processes are only available in
          clusters.
        </Notice>
      )}
      {isCluster && value && (
        <>
          <p className={styles.summary} role="status">
            {summaryOf(rows)}
          </p>
          {value.isMaintained && (
            <div className={styles.stopped} data-testid="maintenance">
              <Notice kind="warning">{MAINTAINED}</Notice>
            </div>
          )}
          <RestartProgress
            state={value.restart}
            peers={value.peers}
            mayCancel={mayChange}
            onCancelled={again}
          />
          <LeavingProgress
            leaving={value.leaving}
            peers={value.peers}
            mayCancel={mayChange}
            onCancelled={again}
          />
          {haveOtherApps(value.peers) && (
            <div className={styles.stopped} data-testid="other-apps">
              <Notice
                kind="info"
                action={
                  <PageLink href={paths.monitor('bundle')} className={objects.link}>
                    Configuration bundle
                  </PageLink>
                }
              >
                Not all processes use the same installed apps.
              </Notice>
            </div>
          )}
          {load?.copies.map((text) => (
            <div key={text} className={styles.stopped}>
              <Notice kind="info">{text}</Notice>
            </div>
          ))}
          <Processes
            rows={rows}
            load={load}
            onRemove={mayChange ? setRemoved : null}
            onTakeOut={mayChange && !isRestarting ? setTaken : null}
          />
          {load?.peers.size === 0 && (
            <p className={styles.last}>
              Load, queues, cache and uploads are those of metrics.log in the index _internal, where
              this page finds none of the last minutes.
            </p>
          )}
          {me && !mayChange && (
            <p className={styles.last} data-testid="no-control">
              Managing processes requires a role with the capability <code>{CHANGES}</code>.
            </p>
          )}
          {maintained !== null && (
            <MaintenanceDialog
              isOn={maintained}
              onChanged={again}
              onClose={() => setMaintained(null)}
            />
          )}
          {isPlanning && (
            <RestartDialog
              peers={value.peers}
              onStarted={again}
              onClose={() => setPlanning(false)}
            />
          )}
          {taken && (
            <OfflineDialog
              peer={taken}
              peers={value.peers}
              onStarted={again}
              onClose={() => setTaken(null)}
            />
          )}
          {removed && (
            <RemovePeerDialog
              peer={removed}
              peers={value.peers}
              onRemoved={again}
              onClose={() => setRemoved(null)}
            />
          )}
        </>
      )}
    </div>
  );
}

const percent = (value: number | null) => (value === null ? null : `${value.toFixed(0)} %`);

/** What metrics.log of a process has; null where it does not say. */
const FIGURES: { label: string; about: string; text: (of: PeerLoad) => string | null }[] = [
  {
    label: 'Load',
    about: 'Average of one minute, and the number of processors',
    text: ({ load, cpus }) =>
      load === null ? null : `${load.toFixed(1)}${cpus === null ? '' : ` of ${cpus}`}`,
  },
  {
    label: 'Queues',
    about: 'The fullest one in the last five minutes',
    text: ({ fill }) => percent(fill),
  },
  {
    label: 'Cache',
    about:
      'Bytes that were read from memory or disk in the last five minutes, of all that were read',
    text: ({ hits }) => percent(hits),
  },
  {
    label: 'To upload',
    about: 'Buckets that are not in object storage yet',
    text: ({ waiting }) => (waiting === null ? null : String(waiting)),
  },
];

interface ProcessesProps {
  rows: PeerRow[];
  /** Undefined until it is known. */
  load: ClusterLoad | undefined;
  /** Null where the user may not remove processes. */
  onRemove: ((peer: Peer) => void) | null;
  /** Null where nobody is taken out now. */
  onTakeOut: ((peer: Peer) => void) | null;
}

function Processes({ rows, load, onRemove, onTakeOut }: ProcessesProps) {
  const withSites = hasSites(rows);
  const recovers = (load?.recoveries.size ?? 0) > 0;
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
    <section className={styles.scroll} tabIndex={0} aria-label="Processes">
      <table className={styles.table} data-testid="peers">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Roles</th>
            {withSites && <th scope="col">Site</th>}
            <th scope="col">Status</th>
            <th scope="col" data-numeric="true">
              Catalog write
            </th>
            {FIGURES.map(({ label, about }) => (
              <th key={label} scope="col" data-numeric="true" title={about}>
                {label}
              </th>
            ))}
            {recovers && <th scope="col">Recovers</th>}
            <th scope="col">Address</th>
            <th scope="col">Version</th>
            <th scope="col">Started</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.id} data-status={row.status}>
              <td title={row.id}>{row.name}</td>
              <td>
                {row.roles.join(', ')}
                {row.leads && (
                  <span className={styles.leads} title={`since ${row.leadsSince}`}>
                    leads
                  </span>
                )}
              </td>
              {withSites && <td>{row.site}</td>}
              <td>
                <span className={styles.status}>{row.status}</span>
                {row.reason && <div className={styles.reason}>{row.reason}</div>}
                {mayBeRemoved(rows, row) && onRemove && (
                  <Button
                    size="compact-xs"
                    variant="default"
                    className={styles.remove}
                    aria-label={`Remove ${labelOf(rows, row)} …`}
                    onClick={() => onRemove(row)}
                  >
                    Remove …
                  </Button>
                )}
                {onTakeOut && mayLeave(row) && (
                  <Button
                    size="compact-xs"
                    variant="subtle"
                    className={styles.takeOut}
                    aria-label={`Take out … ${labelOf(rows, row)}`}
                    onClick={() => onTakeOut(row)}
                  >
                    Take out …
                  </Button>
                )}
              </td>
              <td data-numeric="true">
                {row.write ?? '–'}
                {row.behind !== null && row.behind > 0 && (
                  <span className={styles.behind}> {row.behind} behind</span>
                )}
              </td>
              {FIGURES.map(({ label, text }) => {
                const figures = loadOf(load, row.id);
                return (
                  <td key={label} data-numeric="true" data-figure={label}>
                    {(figures && text(figures)) ?? '–'}
                  </td>
                );
              })}
              {recovers && <td>{recoveriesOf(load, row.id).join('; ')}</td>}
              <td>{row.address}</td>
              <td>{row.version}</td>
              <td>{row.started}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

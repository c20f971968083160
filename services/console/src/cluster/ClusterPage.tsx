/** The processes of the cluster, and whether each of them answers. Looks again every few seconds. */

import { useEffect, useState } from 'react';
import type { KarstClient } from '../api/client';
import { Notice } from '../app/Notice';
import { useTitle } from '../app/useTitle';
import { useLoaded } from '../search/useLoaded';
import { Failed } from '../states/Failed';
import { Skeleton } from '../states/Skeleton';
import styles from './ClusterPage.module.css';
import { type PeerRow, rowsOf, summaryOf } from './peers';

/** Milliseconds between two looks. */
const EVERY = 5_000;

export function ClusterPage({ client }: { client: KarstClient }) {
  useTitle('Cluster');
  const [look, setLook] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => setLook((before) => before + 1), EVERY);
    return () => clearInterval(timer);
  }, []);
  const { value, error } = useLoaded('peers', String(look), (signal) => client.peers(signal));
  const rows = value && rowsOf(value);
  return (
    <div className={styles.page}>
      <h1>Cluster</h1>
      {error && <Failed error={error} onRetry={() => setLook((before) => before + 1)} />}
      {!rows && !error && <Skeleton lines={4} />}
      {rows && rows.length === 0 && (
        <Notice kind="info">
          This server has all roles and belongs to no cluster: it was started without
          --cluster-address.
        </Notice>
      )}
      {rows && rows.length > 0 && (
        <>
          <p className={styles.summary} role="status">
            {summaryOf(rows)}
          </p>
          <Processes rows={rows} />
        </>
      )}
    </div>
  );
}

function Processes({ rows }: { rows: PeerRow[] }) {
  return (
    <div className={styles.scroll}>
      <table className={styles.table} data-testid="peers">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Roles</th>
            <th scope="col">Status</th>
            <th data-numeric="true">Catalog write</th>
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
              <td>
                <span className={styles.status}>{row.status}</span>
                {row.reason && <div className={styles.reason}>{row.reason}</div>}
              </td>
              <td data-numeric="true">
                {row.write ?? '–'}
                {row.behind !== null && row.behind > 0 && (
                  <span className={styles.behind}> {row.behind} behind</span>
                )}
              </td>
              <td>{row.address}</td>
              <td>{row.version}</td>
              <td>{row.started}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

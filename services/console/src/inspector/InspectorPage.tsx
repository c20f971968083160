/** A job at its own address: what it was, how it went, what it cost. */

import { useQuery } from '@tanstack/react-query';
import { ApiError } from '../api/client';
import code from '../app/Code.module.css';
import { useClient } from '../app/clientContext';
import { PageLink } from '../app/PageLink';
import { addressOf, paths } from '../app/routing';
import { useTitle } from '../app/useTitle';
import { Failed } from '../states/Failed';
import { Skeleton } from '../states/Skeleton';
import { InspectorView } from './InspectorView';
import styles from './InspectorView.module.css';

/** Milliseconds between two looks at a job that runs. */
const EVERY = 1_000;

export default function InspectorPage({ sid }: { sid: string }) {
  useTitle(`Job ${sid}`);
  const client = useClient();
  const {
    data: job,
    error,
    isPending,
    refetch,
  } = useQuery({
    queryKey: ['job', sid],
    queryFn: ({ signal }) => client.listedJob(sid, signal),
    refetchInterval: ({ state }) => (state.data && !state.data.status.isDone ? EVERY : false),
  });
  return (
    <div className={styles.page}>
      <nav className={styles.trail} aria-label="Back">
        <PageLink href={paths.jobs()}>Jobs</PageLink> / {sid}
      </nav>
      <h1>Job inspector</h1>
      {isPending && <Skeleton lines={6} />}
      {error instanceof ApiError && <Failed error={error} onRetry={() => void refetch()} />}
      {job && (
        <>
          <pre className={`${code.code} ${styles.search}`}>{job.search}</pre>
          <p className={styles.line}>
            {job.owner} · {job.status.dispatchState.toLowerCase()} ·{' '}
            <PageLink
              href={addressOf(paths.search(job.app || 'search'), {
                q: job.search,
                earliest: job.earliest,
                latest: job.latest,
                sid,
              })}
            >
              Show the results
            </PageLink>
          </p>
          <InspectorView client={client} sid={sid} job={job.status} />
        </>
      )}
    </div>
  );
}

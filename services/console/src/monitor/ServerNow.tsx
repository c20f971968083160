/** What the server says of itself now, asked directly: it is there while searches are slow or fail. */

import { useQuery } from '@tanstack/react-query';
import { ApiError } from '../api/client';
import { useClient } from '../app/clientContext';
import { Notice } from '../app/Notice';
import styles from './Monitor.module.css';
import { figuresOf } from './serverNow';

/** Milliseconds between two looks. */
const EVERY = 10_000;
const STATUS = '/services/server/status';

export function ServerNow() {
  const client = useClient();
  const { data, error } = useQuery({
    queryKey: ['server-now'],
    refetchInterval: EVERY,
    queryFn: async ({ signal }) => {
      const [health, queues, cache] = await Promise.all([
        client.entries('/services/server/health', signal),
        client.entries(`${STATUS}/queues`, signal),
        client.entries(`${STATUS}/cache`, signal),
      ]);
      return figuresOf(health[0], queues[0], cache[0]);
    },
  });
  return (
    <section className={styles.now} aria-label="Now, without a search" data-testid="server-now">
      {error instanceof ApiError && (
        <Notice kind="warning">{`The state of the server is not known: ${error.message}`}</Notice>
      )}
      <dl>
        {(data ?? []).map((figure) => (
          <div key={figure.label} data-level={figure.level} title={figure.about}>
            <dt>{figure.label}</dt>
            <dd>{figure.value}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

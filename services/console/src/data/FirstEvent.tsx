/** Waits for the first event that arrives in an index, and shows it. */

import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { ResultRows } from '../api/types';
import { useClient } from '../app/clientContext';
import { PageLink } from '../app/PageLink';
import { addressOf, paths } from '../app/routing';
import objects from '../objects/Objects.module.css';
import { quoted } from '../query/syntax';
import { cellText } from '../statistics/table';
import styles from './AddData.module.css';

/** Milliseconds between two looks. */
const EVERY = 3_000;

export function FirstEvent({ app, index }: { app: string; index: string }) {
  const client = useClient();
  const [since] = useState(() => performance.now());
  const where = `index=${quoted(index)}`;
  const { data, error } = useQuery<ResultRows>({
    queryKey: ['first-event', index, since],
    refetchInterval: (query) => ((query.state.data?.rows.length ?? 0) > 0 ? false : EVERY),
    queryFn: async ({ signal }) => {
      // By the clock of the server: that of the browser may be another.
      const elapsed = Math.ceil((performance.now() - since) / 1_000) + 1;
      const search = `search ${where} _index_earliest=-${elapsed}s | head 1 | table _time host source sourcetype _raw`;
      const found = await client.rowsOf(
        { search, earliest: '0', latest: '', timezone: 'UTC' },
        signal,
        1,
      );
      client.removeJob(found.sid).catch(() => {});
      return found;
    },
  });
  const row = data?.rows[0];
  return (
    <section
      className={styles.first}
      aria-live="polite"
      data-testid="first-event"
      data-found={row !== undefined}
    >
      <h2>{row ? 'The first event is there' : `Waiting for the first event in ${index} …`}</h2>
      {error && <p>{error.message}</p>}
      {row && data && (
        <>
          <dl>
            {data.fields.slice(0, -1).map((field, at) => (
              <div key={field}>
                <dt>{field}</dt>
                <dd>{cellText(row[at] ?? null)}</dd>
              </div>
            ))}
          </dl>
          <pre>{cellText(row.at(-1) ?? null)}</pre>
          <PageLink
            className={objects.link}
            href={addressOf(paths.search(app), { q: where, earliest: '-24h', latest: 'now' })}
          >
            Search {index}
          </PageLink>
        </>
      )}
    </section>
  );
}

/** Waits for the first event that arrives in an index, and shows it. */

import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { ResultRows } from '../api/types';
import code from '../app/Code.module.css';
import { useClient } from '../app/clientContext';
import { PageLink } from '../app/PageLink';
import { useZone } from '../app/preferences';
import { addressOf, paths } from '../app/routing';
import objects from '../objects/Objects.module.css';
import { quoted } from '../query/syntax';
import { cellText } from '../statistics/table';
import styles from './AddData.module.css';
import { shownValue } from './loadReport';

/** Milliseconds between two looks. */
const EVERY = 3_000;

/** The search for the first event that was indexed after a time, in seconds with their parts. */
export function laterThan(where: string, since: number): string {
  const events = `search ${where} _index_earliest=${Math.floor(since)} | where _indextime > ${since}`;
  return `${events} | head 1 | table _time host source sourcetype _raw`;
}

interface FirstEventProps {
  app: string;
  index: string;
  /** An input, and the sources of its events; without sources, any event of the index is one. */
  input?: { name: string; sources: string[] };
}

export function FirstEvent({ app, index, input }: FirstEventProps) {
  const client = useClient();
  const [zone] = useZone();
  const [opened] = useState(() => performance.now());
  const sources = input?.sources ?? [];
  const terms = sources.map((source) => `source=${quoted(source)}`).join(' OR ');
  const where = `index=${quoted(index)}${terms && ` (${terms})`}`;
  const rows = async (search: string, signal: AbortSignal) => {
    const found = await client.rowsOf(
      { search, earliest: '0', latest: '', timezone: 'UTC' },
      signal,
      1,
    );
    client.removeJob(found.sid).catch(() => {});
    return found;
  };
  // Which data exists already, by the clock of the server: that of the browser may be another.
  const newest = useQuery({
    queryKey: ['newest-event', where, opened],
    staleTime: Number.POSITIVE_INFINITY,
    // A file that exists is read before this page can ask: all its events count.
    enabled: sources.length === 0,
    queryFn: async ({ signal }) => {
      const found = await rows(`| tstats max(_indextime) as since where ${where}`, signal);
      return Number(found.rows[0]?.[0] ?? 0);
    },
  });
  const since = sources.length > 0 ? 0 : newest.data;
  const { data, error } = useQuery<ResultRows>({
    queryKey: ['first-event', where, since],
    enabled: since !== undefined,
    refetchInterval: (query) => ((query.state.data?.rows.length ?? 0) > 0 ? false : EVERY),
    queryFn: ({ signal }) => rows(laterThan(where, since ?? 0), signal),
  });
  const failure = error ?? newest.error;
  const row = data?.rows[0];
  return (
    <section
      className={styles.first}
      aria-live="polite"
      data-testid="first-event"
      data-found={row !== undefined}
    >
      <h2>
        {row
          ? 'The first event is there'
          : `Waiting for the first event ${input ? `of ${input.name} ` : ''}in ${index} …`}
      </h2>
      {failure && <p>{failure.message}</p>}
      {row && data && (
        <>
          <dl>
            {data.fields.slice(0, -1).map((field, at) => (
              <div key={field}>
                <dt>{field}</dt>
                <dd>{shownValue(field, cellText(row[at] ?? null), zone)}</dd>
              </div>
            ))}
          </dl>
          <pre className={code.code}>{cellText(row.at(-1) ?? null)}</pre>
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

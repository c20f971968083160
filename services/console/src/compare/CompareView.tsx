/** The events of a search beside those of an earlier range: how many, and which values differ. */

import { SegmentedControl } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError } from '../api/client';
import { useConnection } from '../app/clientContext';
import { grouped } from '../app/format';
import { ListTable } from '../app/ListTable';
import { useZone } from '../app/preferences';
import { Visible } from '../app/Visible';
import { withFieldValue } from '../query/rewrite';
import type { JobResultsProps } from '../search/Results';
import results from '../search/Results.module.css';
import { Empty } from '../states/Empty';
import { Failed } from '../states/Failed';
import { Skeleton } from '../states/Skeleton';
import { rangeLabel } from '../time/timeRange';
import styles from './CompareView.module.css';
import { differences, shareText } from './differences';
import { AGAINST, AGAINST_NAMES, type Against, earlier, isPlain } from './ranges';

const MOST = 60;
/** Values of a field that each set tells; of others, only a bound is known. */
const VALUES = 100;

export default function CompareView({ client, app, sid, job, query, onQuery }: JobResultsProps) {
  const { username } = useConnection();
  const [zone] = useZone();
  const [against, setAgainst] = useState<Against>('window');
  const range = earlier(job.earliestTime, job.latestTime, against);
  const isPossible = isPlain(query) && range !== null && job.isDone;
  const { data, error, isPending } = useQuery({
    queryKey: ['compare', sid, against],
    enabled: isPossible,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const request = {
        search: query || '*',
        earliest: range?.earliest ?? '',
        latest: range?.latest ?? '',
        timezone: zone,
        namespace: { owner: username, app },
      };
      const other = await client.createJob(request, signal, { exec_mode: 'blocking' });
      try {
        const [status, before, now] = await Promise.all([
          client.job(other, signal),
          client.summary(other, signal, VALUES),
          client.summary(sid, signal, VALUES),
        ]);
        if (status.isFailed) throw new ApiError('server', 200, status.messages);
        return { status, rows: differences(now, before) };
      } finally {
        client.removeJob(other).catch(() => {});
      }
    },
  });
  if (!isPlain(query)) {
    return (
      <p className={results.note}>
        Only a search without commands, macros and subsearches can be compared. It runs a second
        time, for the other range.
      </p>
    );
  }
  if (job.isDone && range === null) {
    return <p className={results.note}>A time range without a start has no previous range.</p>;
  }
  return (
    <div className={styles.view} data-testid="compare">
      <div className={styles.tools}>
        <span>Compared with</span>
        <SegmentedControl
          size="xs"
          aria-label="Compared with"
          data={AGAINST.map((value) => ({ value, label: AGAINST_NAMES[value] }))}
          value={against}
          onChange={(value) => setAgainst(value as Against)}
        />
        {range && <span>{rangeLabel(range, zone)}</span>}
      </div>
      {error instanceof ApiError && <Failed error={error} />}
      {(!job.isDone || (isPending && !error)) && (
        <Skeleton lines={6} label="The search of the other range runs" />
      )}
      {data && (
        <>
          <p role="status" className={styles.counts}>
            <b>{grouped(job.eventCount)}</b> events now, <b>{grouped(data.status.eventCount)}</b>{' '}
            before{change(job.eventCount, data.status.eventCount)}.
            {(job.eventAvailableCount < job.eventCount ||
              data.status.eventAvailableCount < data.status.eventCount) &&
              ' Values are those of the newest events that each search keeps.'}
          </p>
          {data.rows.length === 0 ? (
            <Empty title="No value differs" />
          ) : (
            <ListTable
              columns={[
                'Field',
                'Value',
                { numeric: 'Now' },
                { numeric: 'Before' },
                { hidden: 'Parts' },
              ]}
              label="Values that differ"
            >
              {data.rows.slice(0, MOST).map((one) => (
                <tr key={`${one.field}\u0000${one.value}`} data-testid="difference">
                  <td>{one.field}</td>
                  <td className={styles.value}>
                    <button
                      type="button"
                      title={`Add ${one.field}=${one.value} to the search`}
                      onClick={() => onQuery(withFieldValue(query, one.field, one.value))}
                    >
                      {one.value === '' ? <i>empty</i> : <Visible text={one.value} />}
                    </button>
                  </td>
                  <td data-numeric="true">{shareText(one.now, one.below === 'now')}</td>
                  <td data-numeric="true">{shareText(one.before, one.below === 'before')}</td>
                  <td className={styles.bars} aria-hidden="true">
                    <div data-set="now" style={{ width: `${100 * Math.min(1, one.now)}%` }} />
                    <div data-set="before" style={{ width: `${100 * Math.min(1, one.before)}%` }} />
                  </td>
                </tr>
              ))}
            </ListTable>
          )}
          {data.rows.length > MOST && (
            <p className={styles.counts}>
              The largest {MOST} of {grouped(data.rows.length)} differences are shown.
            </p>
          )}
        </>
      )}
    </div>
  );
}

function change(now: number, before: number): string {
  if (before === 0 || now === before) return '';
  const ratio = now / before;
  if (ratio >= 2) return `, ${Math.round(10 * ratio) / 10} times as many`;
  const part = Math.round(1_000 * Math.abs(ratio - 1)) / 10;
  return `, ${part}% ${ratio > 1 ? 'more' : 'fewer'}`;
}

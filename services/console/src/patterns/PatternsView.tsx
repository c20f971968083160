/** Events grouped by their texts: the command `cluster` over the events that the job keeps. */

import { SegmentedControl } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError } from '../api/client';
import { grouped, percent, plural } from '../app/format';
import { ListTable } from '../app/ListTable';
import { VisiblePieces } from '../app/Visible';
import styles from '../compare/CompareView.module.css';
import { quoted, topLevelPipes } from '../query/syntax';
import type { JobResultsProps } from '../search/Results';
import { Empty } from '../states/Empty';
import { Failed } from '../states/Failed';
import { Skeleton } from '../states/Skeleton';
import { cellNumber, cellText } from '../statistics/table';
import { piecesOf, wordsOf } from './pattern';

const MOST = 100;
const LEVELS = [
  { value: '0.5', label: 'Fewer' },
  { value: '0.7', label: 'Some' },
  { value: '0.9', label: 'More' },
];

export default function PatternsView({ client, sid, job, query, onQuery }: JobResultsProps) {
  const [level, setLevel] = useState('0.7');
  const { data, error, isPending } = useQuery({
    queryKey: ['patterns', sid, level],
    enabled: job.isDone && job.eventAvailableCount > 0,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: ({ signal }) =>
      client.postProcess(
        sid,
        `| cluster t=${level} showcount=t | sort 0 - cluster_count | table cluster_count _raw`,
        MOST,
        signal,
      ),
  });
  const rows = data?.rows ?? [];
  const all = job.eventAvailableCount;
  const narrow = (raw: string) => {
    const words = wordsOf(raw).map(quoted).join(' ');
    onQuery(topLevelPipes(query).length > 0 ? `${query} | search ${words}` : `${query} ${words}`);
  };
  if (job.isDone && all === 0)
    return <Empty title="There are no events, so there are no patterns" />;
  return (
    <div className={styles.view} data-testid="patterns">
      <div className={styles.tools}>
        <span>Patterns</span>
        <SegmentedControl
          size="xs"
          aria-label="Number of patterns"
          data={LEVELS}
          value={level}
          onChange={setLevel}
        />
        {data && (
          <span role="status">
            {rows.length === MOST ? `the ${MOST} most frequent` : plural(rows.length, 'pattern')} in{' '}
            {all < job.eventCount
              ? `the newest ${grouped(all)} of ${plural(job.eventCount, 'event')}`
              : plural(all, 'event')}
          </span>
        )}
      </div>
      {error instanceof ApiError && <Failed error={error} />}
      {(!job.isDone || (isPending && !error)) && <Skeleton lines={8} label="Events are grouped" />}
      {rows.length > 0 && (
        <ListTable
          columns={[
            { numeric: 'Events' },
            { numeric: 'Part' },
            'One of them; differing parts are paler',
            { hidden: 'Actions' },
          ]}
          label="Patterns of the events"
        >
          {rows.map((row) => {
            const count = cellNumber(row[0] ?? null) ?? 0;
            const raw = cellText(row[1] ?? null);
            return (
              <tr key={`${count}\u0000${raw}`} data-testid="pattern">
                <td data-numeric="true">{grouped(count)}</td>
                <td data-numeric="true">{percent(count, all)}</td>
                <td className={styles.pattern}>
                  <VisiblePieces
                    pieces={piecesOf(raw).map(({ text, isVariable: marked }) => ({ text, marked }))}
                    as="b"
                  />
                </td>
                <td className={styles.value}>
                  {wordsOf(raw).length > 0 && (
                    <button
                      type="button"
                      aria-label={`Search its words, pattern with ${count} events`}
                      onClick={() => narrow(raw)}
                    >
                      Search its words
                    </button>
                  )}
                </td>
              </tr>
            );
          })}
        </ListTable>
      )}
    </div>
  );
}

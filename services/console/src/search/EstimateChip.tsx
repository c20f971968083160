/**
 * What the search in the field reads at most, before it runs; asked again after each change of search or range.
 * While a search runs, the estimate is kept for its job, so that the job inspector can compare.
 */

import { Popover } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import { IconScale } from '@tabler/icons-react';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useMemo } from 'react';
import type { KarstClient } from '../api/client';
import { useLacking } from '../app/clientContext';
import badge from './CompletenessBadge.module.css';
import styles from './EstimateChip.module.css';
import {
  type Compared,
  compare,
  comparedText,
  DEFAULT_PRICE,
  decodeEstimate,
  estimateOf,
  estimateRows,
  estimateText,
  notesOf,
  rememberEstimate,
  truthOfCost,
} from './estimate';
import type { JobStart, SearchState } from './searchRun';
import type { Explain } from './sharedExplain';
import { type SearchRequest, sameRequest } from './urlState';

/** Milliseconds without a change; longer than the pause before a search is checked. */
const PAUSE = 700;
/** Milliseconds for which an estimate holds: caches and hot buckets change. */
const FRESH = 15_000;

interface EstimateChipProps {
  client: KarstClient;
  explain: Explain;
  jobOf: (request: SearchRequest) => JobStart;
  draft: SearchRequest;
  state: SearchState;
}

export default function EstimateChip({ client, explain, jobOf, draft, state }: EstimateChipProps) {
  const query = draft.query.trim();
  const isRun = state.phase !== 'idle' && sameRequest(state.request, { ...draft, query });
  const isOver = isRun && state.phase !== 'starting' && state.phase !== 'running';
  const wanted = JSON.stringify(jobOf({ ...draft, query }));
  const [calm] = useDebouncedValue(wanted, PAUSE);
  // A search that runs is not edited: its estimate has to be there before its caches are warm.
  const asked = isRun ? wanted : calm;
  const found = useQuery({
    queryKey: ['estimate', asked],
    enabled: query !== '' && asked === wanted && !isOver,
    staleTime: FRESH,
    retry: false,
    placeholderData: keepPreviousData,
    queryFn: async () => {
      const { query: search, range, ...rest } = jobOf({ ...draft, query });
      const { estimate } = await explain({ search, ...range, ...rest });
      return decodeEstimate(estimate);
    },
  });
  const { sid } = state;
  const fresh = found.isPlaceholderData ? null : found.data;
  useEffect(() => {
    if (sid && isRun && fresh) rememberEstimate(localStorage, sid, fresh);
  }, [sid, isRun, fresh]);
  const kept = useMemo(
    () => (isOver && sid ? (fresh ?? estimateOf(localStorage, sid)) : null),
    [isOver, sid, fresh],
  );
  const cost = useQuery({
    queryKey: ['cost', sid ?? ''],
    enabled: kept !== null && sid !== null && state.phase === 'done',
    queryFn: ({ signal }) => client.jobStatuses([sid ?? ''], { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const estimate = isOver ? kept : (found.data ?? null);
  const per1000 = usePrice(client, estimate?.tiers != null);
  if (query === '' || !estimate) return null;

  const read = isOver && sid ? cost.data?.jobs.get(sid)?.cost : undefined;
  if (isOver && !read) return null;
  const truth = read ? truthOfCost(read) : null;
  const text = truth
    ? comparedText(estimate, truth, state.job?.scanCount ?? 0)
    : estimateText(estimate, per1000);
  return (
    <Popover position="bottom-end" width={360} withArrow trapFocus returnFocus>
      <Popover.Target>
        <button
          type="button"
          className={styles.chip}
          aria-label={`${truth ? 'Read of the estimate' : 'Estimate'}: ${text}`}
          data-testid="estimate"
          data-compared={truth !== null}
          data-stale={(!isOver && (asked !== wanted || found.isPlaceholderData)) || undefined}
        >
          <IconScale size={14} aria-hidden="true" />
          {text}
        </button>
      </Popover.Target>
      <Popover.Dropdown
        className={`${badge.panel} ${styles.panel}`}
        tabIndex={-1}
        data-testid="estimate-panel"
      >
        <p className={styles.title}>Estimate before the run</p>
        {truth ? (
          <ComparedRows rows={compare(estimate, truth, per1000)} />
        ) : (
          <table className={styles.rows}>
            <tbody>
              {estimateRows(estimate, per1000).map(([name, value]) => (
                <tr key={name}>
                  <th scope="row">{name}</th>
                  <td>{value}</td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
        {notesOf(estimate, truth).map((note) => (
          <p key={note} className={styles.note}>
            {note}
          </p>
        ))}
      </Popover.Dropdown>
    </Popover>
  );
}

function ComparedRows({ rows }: { rows: Compared[] }) {
  return (
    <table className={styles.rows}>
      <thead>
        <tr>
          <td />
          <th scope="col">At most</th>
          <th scope="col">Read</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(({ what, estimated, read }) => (
          <tr key={what}>
            <th scope="row">{what}</th>
            <td>{estimated}</td>
            <td>{read}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/** The price of requests that the server counts with, where the user may see its settings. */
function usePrice(client: KarstClient, isWanted: boolean): number {
  const lacking = useLacking('list_settings');
  const { data } = useQuery({
    queryKey: ['price-of-requests'],
    enabled: isWanted && lacking === null,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    queryFn: async ({ signal }) => {
      const query = { conf: 'limits', search: 's3_price_get_per_1000' };
      const { settings } = await client.get('/api/v1/settings', query, signal);
      const [first] = Array.isArray(settings) ? settings : [];
      const price = Number(first?.value);
      return Number.isFinite(price) ? price : DEFAULT_PRICE;
    },
  });
  return data ?? DEFAULT_PRICE;
}

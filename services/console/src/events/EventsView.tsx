/** Events: when they happened, which fields they have, and the events themselves by the page. */

import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useCallback, useEffect, useMemo, useState } from 'react';
import type { EventRow, ResultRows } from '../api/types';
import { useConnection } from '../app/clientContext';
import { useSelectedFields } from '../app/preferences';
import { isPlain } from '../compare/ranges';
import { FieldList } from '../fields/FieldList';
import {
  withFieldPresent,
  withFieldValue,
  withNumbers,
  withoutFieldValue,
  withQuickReport,
} from '../query/rewrite';
import type { JobEventsProps } from '../search/Results';
import { useLoaded } from '../search/useLoaded';
import { EventList } from './EventList';
import styles from './EventsView.module.css';
import { isOpenEvent, openEventOf } from './openEvent';
import { Timeline } from './Timeline';

const EventDetails = lazy(() => import('./EventDetails'));

/** What a click on a field or value can do. */
export interface FieldActions {
  add: (field: string, value: string) => void;
  exclude: (field: string, value: string) => void;
  require: (field: string) => void;
  report: (field: string, report: Parameters<typeof withQuickReport>[2]) => void;
  /** Statistics of a field with numbers, by a search of its own; null where the search may not run again. */
  numbers: ((field: string) => Promise<ResultRows>) | null;
}

export function fieldActions(query: string, onQuery: (query: string) => void): FieldActions {
  return {
    add: (field, value) => onQuery(withFieldValue(query, field, value)),
    exclude: (field, value) => onQuery(withoutFieldValue(query, field, value)),
    require: (field) => onQuery(withFieldPresent(query, field)),
    report: (field, report) => onQuery(withQuickReport(query, field, report)),
    numbers: null,
  };
}

export function EventsView(props: JobEventsProps) {
  const { client, app, sid, job, query, onQuery, onRange, onFields } = props;
  const { username } = useConnection();
  const [selected, toggleField] = useSelectedFields();
  const [areFieldsShown, setFieldsShown] = useState(false);
  const { detailed, onDetails, onClose } = useDetails(props);
  const version = `${job.eventCount}:${job.dispatchState}`;
  const timeline = useLoaded(sid, version, (signal) => client.timeline(sid, signal));
  const summary = useLoaded(sid, version, (signal) => client.summary(sid, signal));
  const fields = summary.value?.fields;
  useEffect(() => {
    if (fields) onFields({ fields });
  }, [fields, onFields]);
  const { earliestTime, latestTime } = job;
  const actions = useMemo<FieldActions>(() => {
    const numbers = async (field: string) => {
      const request = {
        search: withNumbers(query, field),
        earliest: earliestTime || '0',
        latest: latestTime,
        timezone: 'UTC',
        namespace: { owner: username, app },
      };
      const found = await client.rowsOf(request);
      client.removeJob(found.sid).catch(() => {});
      return found;
    };
    return { ...fieldActions(query, onQuery), numbers: isPlain(query) ? numbers : null };
  }, [query, onQuery, client, username, app, earliestTime, latestTime]);
  return (
    <div className={styles.view}>
      <Timeline timeline={timeline} job={job} onRange={onRange} />
      <button
        type="button"
        className={styles.toggle}
        aria-expanded={areFieldsShown}
        onClick={() => setFieldsShown((shown) => !shown)}
      >
        {areFieldsShown ? 'Hide fields' : 'Fields'}
      </button>
      <div className={styles.columns} data-fields={areFieldsShown}>
        <FieldList summary={summary} selected={selected} onToggle={toggleField} actions={actions} />
        <EventList
          client={client}
          sid={sid}
          job={job}
          version={version}
          selected={selected}
          actions={actions}
          onDetails={onDetails}
          query={query}
          onRange={onRange}
          onAgain={() => onQuery(query)}
        />
      </div>
      {detailed && (
        <Suspense>
          <EventDetails event={detailed} actions={actions} onClose={onClose} />
        </Suspense>
      )}
    </div>
  );
}

/** The event of the address: the one that was clicked here, or the one that the job has at its place. */
function useDetails({ client, sid, job, event: open, onEvent }: JobEventsProps) {
  const [clicked, setClicked] = useState<{ event: EventRow; place: number } | null>(null);
  const isClicked = open && clicked && isOpenEvent(clicked.event, clicked.place, open);
  const { data } = useQuery({
    queryKey: ['event', sid, open?.place],
    // While the job runs, newer events move the others.
    enabled: open !== null && !isClicked && job.isDone,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async ({ signal }) => {
      const page = { offset: open?.place ?? 0, count: 1 };
      return (await client.events(sid, page, signal)).events[0] ?? null;
    },
  });
  const isOther = open !== null && !isClicked && data !== undefined;
  const found = isOther && data && isOpenEvent(data, open.place, open) ? data : null;
  const isMissing = isOther && found === null;
  useEffect(() => {
    if (isMissing) onEvent(null, true);
  }, [isMissing, onEvent]);
  const onDetails = useCallback(
    (event: EventRow, place: number) => {
      setClicked({ event, place });
      onEvent(openEventOf(event, place));
    },
    [onEvent],
  );
  return {
    detailed: isClicked ? clicked.event : found,
    onDetails,
    onClose: () => onEvent(null),
  };
}

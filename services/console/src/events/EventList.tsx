import { Checkbox } from '@mantine/core';
import { useMemo, useState } from 'react';
import type { KarstClient } from '../api/client';
import { explainJobError } from '../api/explain';
import type { JobStatus } from '../api/types';
import { grouped, plural } from '../app/format';
import { Notice } from '../app/Notice';
import { Pager } from '../app/Pager';
import { useWrapLines, useZone } from '../app/preferences';
import { useLoaded } from '../search/useLoaded';
import { EventItem } from './EventItem';
import styles from './EventList.module.css';
import type { FieldActions } from './EventsView';
import { highlighter } from './highlight';

interface EventListProps {
  client: KarstClient;
  sid: string;
  job: JobStatus;
  version: string;
  selected: string[];
  actions: FieldActions;
}

const PAGE_SIZE = 50;

export function EventList({ client, sid, job, version, selected, actions }: EventListProps) {
  const [page, setPage] = useState(1);
  const [wrap, setWrap] = useWrapLines();
  const [zone] = useZone();
  const offset = (page - 1) * PAGE_SIZE;
  const { value, error, loading } = useLoaded(`${sid}:${page}`, version, (signal) =>
    client.events(sid, { offset, count: PAGE_SIZE }, signal),
  );
  const words = value?.highlighted.join('\u0000') ?? '';
  const highlight = useMemo(() => highlighter(words.split('\u0000')), [words]);
  const available = job.eventAvailableCount;

  return (
    <section className={styles.list} aria-label="Events" aria-busy={loading}>
      <div className={styles.tools}>
        <Checkbox
          size="xs"
          label="Wrap lines"
          checked={wrap}
          onChange={(event) => setWrap(event.currentTarget.checked)}
        />
        <span className={styles.zone}>Times in {zone}</span>
        <Pager page={page} size={PAGE_SIZE} total={available} noun="event" onPage={setPage} />
      </div>
      {error && <Notice kind="error">{explainJobError(error)}</Notice>}
      {job.isDone && available < job.eventCount && (
        <Notice kind="info">
          {`${plural(available, 'event')} of ${grouped(job.eventCount)} can be paged through; `}
          the count and the timeline are of all, fields of those kept. Narrow the search or the time
          range to see others.
        </Notice>
      )}
      {value && value.events.length === 0 && <NoEvents job={job} />}
      <div className={styles.rows} data-stale={loading} data-wrap={wrap}>
        {value?.events.map((event, index) => (
          <EventItem
            // biome-ignore lint/suspicious/noArrayIndexKey: events have no identity of their own
            key={`${page}:${index}`}
            event={event}
            selected={selected}
            zone={zone}
            highlight={highlight}
            actions={actions}
          />
        ))}
      </div>
      {value && value.events.length > 15 && (
        <div className={styles.tools}>
          <Pager page={page} size={PAGE_SIZE} total={available} noun="event" onPage={setPage} />
        </div>
      )}
    </section>
  );
}

function NoEvents({ job }: { job: JobStatus }) {
  return (
    <p className={styles.none} data-testid="no-events">
      {noEventsText(job)}
    </p>
  );
}

function noEventsText(job: JobStatus): string {
  if (job.isDone) {
    return 'No events match. Try a longer time range, fewer words, or check the spelling of fields.';
  }
  return job.eventCount > 0
    ? 'The newest events found so far are listed in a moment.'
    : 'No events yet.';
}

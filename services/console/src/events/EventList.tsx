/** The events of a job, newest first. Those in sight are loaded and drawn, whatever their number. */

import { Checkbox } from '@mantine/core';
import { useVirtualizer } from '@tanstack/react-virtual';
import { useCallback, useEffect, useMemo, useState, useSyncExternalStore } from 'react';
import type { KarstClient } from '../api/client';
import type { EventRow, JobStatus } from '../api/types';
import { grouped, plural } from '../app/format';
import { Notice } from '../app/Notice';
import { Pager } from '../app/Pager';
import { useWrapLines, useZone } from '../app/preferences';
import { scroller, useScrollMargin } from '../app/useScroller';
import { JobError } from '../search/JobError';
import { Empty } from '../states/Empty';
import { Skeleton } from '../states/Skeleton';
import type { TimeRange } from '../time/timeRange';
import { EventItem } from './EventItem';
import styles from './EventList.module.css';
import type { FieldActions } from './EventsView';
import { EventPages } from './eventPages';
import { highlighter } from './highlight';
import { IndexTip } from './IndexTip';

interface EventListProps {
  client: KarstClient;
  sid: string;
  job: JobStatus;
  version: string;
  selected: string[];
  actions: FieldActions;
  onDetails: (event: EventRow, place: number) => void;
  query: string;
  onRange: (range: TimeRange) => void;
  /** Runs the search again. */
  onAgain: () => void;
}

/** Events of one list: browsers draw nothing beyond some 30 million pixels. */
const LIST_SIZE = 100_000;
const ROW_HEIGHT = 48;

export function EventList(props: EventListProps) {
  const { client, sid, job, version, selected, actions, onDetails, query, onRange, onAgain } =
    props;
  const [list, setList] = useState(1);
  const [wrap, setWrap] = useWrapLines();
  const [zone] = useZone();
  const [pages, setPages] = useState<EventPages | null>(null);
  const first = (list - 1) * LIST_SIZE;
  const available = job.eventAvailableCount;
  const count = Math.min(LIST_SIZE, available - first);

  useEffect(() => {
    const created = new EventPages((offset, size, signal) =>
      client.events(sid, { offset, count: size }, signal),
    );
    setPages(created);
    return () => created.close();
  }, [client, sid]);

  const { error, isLoading, highlighted } = usePages(pages);
  const words = highlighted.join('\u0000');
  const highlight = useMemo(() => highlighter(words.split('\u0000')), [words]);
  const isEmpty = job.isDone && available === 0;

  return (
    <section className={styles.list} aria-label="Events">
      <div className={styles.tools}>
        <Checkbox
          size="xs"
          label="Wrap lines"
          checked={wrap}
          onChange={(event) => setWrap(event.currentTarget.checked)}
        />
        <span className={styles.zone}>Times in {zone}</span>
        {available > LIST_SIZE ? (
          <Pager page={list} size={LIST_SIZE} total={available} noun="event" onPage={setList} />
        ) : (
          <span className={styles.total}>{plural(available, 'event')}</span>
        )}
      </div>
      {error && <JobError error={error} query={query} onAgain={onAgain} />}
      {job.isDone && available < job.eventCount && (
        <Notice kind="info">
          {`${plural(available, 'event')} of ${grouped(job.eventCount)} can be browsed; `}
          the count and the timeline include all events, the fields only those kept. Narrow the
          search or the time range to see others.
        </Notice>
      )}
      {isEmpty && <NoEvents job={job} query={query} onRange={onRange} />}
      {!isEmpty && available === 0 && <Skeleton lines={6} label="No events yet" />}
      {pages && count > 0 && (
        <Rows
          key={`${sid}:${list}:${wrap}`}
          pages={pages}
          first={first}
          count={count}
          version={version}
          isLoading={isLoading}
          wrap={wrap}
          item={(event, place) => (
            <EventItem
              event={event}
              place={place}
              total={available}
              selected={selected}
              zone={zone}
              highlight={highlight}
              actions={actions}
              onDetails={onDetails}
            />
          )}
        />
      )}
    </section>
  );
}

const NO_PAGES = { revision: 0, error: null, isLoading: true, highlighted: [] as string[] };
const nothing = () => () => {};

function usePages(pages: EventPages | null) {
  return useSyncExternalStore(pages?.subscribe ?? nothing, pages?.state ?? (() => NO_PAGES));
}

interface RowsProps {
  /** Where events are by their place. */
  pages: Pick<EventPages, 'want' | 'at'>;
  first: number;
  count: number;
  version: string;
  isLoading: boolean;
  wrap: boolean;
  item: (event: EventRow, place: number) => React.ReactNode;
}

export function Rows({ pages, first, count, version, isLoading, wrap, item }: RowsProps) {
  const [element, setElement] = useState<HTMLDivElement | null>(null);
  const margin = useScrollMargin(element);
  const virtual = useVirtualizer({
    count,
    getScrollElement: scroller,
    estimateSize: useCallback(() => ROW_HEIGHT, []),
    overscan: 8,
    scrollMargin: margin,
  });
  const items = virtual.getVirtualItems();
  const from = first + (items[0]?.index ?? 0);
  const to = first + (items.at(-1)?.index ?? 0);
  useEffect(() => pages.want(from, to, version), [pages, from, to, version]);

  return (
    <div
      ref={setElement}
      className={styles.rows}
      role="feed"
      aria-label="Events"
      aria-busy={isLoading}
      data-wrap={wrap}
      style={{ height: virtual.getTotalSize() }}
    >
      {items.map(({ index, start, key }) => {
        const event = pages.at(first + index);
        return (
          <div
            key={key}
            ref={virtual.measureElement}
            data-index={index}
            className={styles.row}
            style={{ transform: `translateY(${start - margin}px)` }}
          >
            {event ? item(event, first + index) : <div className={styles.pending} />}
          </div>
        );
      })}
    </div>
  );
}

function NoEvents({ job, query, onRange }: Pick<EventListProps, 'job' | 'query' | 'onRange'>) {
  return (
    <Empty title="No events match" testId="no-events">
      {job.scanCount > 0 && <p>{plural(job.scanCount, 'event')} were scanned.</p>}
      <ul>
        <IndexTip query={query} job={job} onRange={onRange} />
        <li>Choose a longer time range.</li>
        <li>Use fewer words, or wildcards such as fail*.</li>
        <li>Check the names of fields: they are case-sensitive.</li>
      </ul>
    </Empty>
  );
}

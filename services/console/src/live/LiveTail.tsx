/**
 * Live tail: events as they arrive, newest first. It stands still while somebody points at it, scrolls, selects or
 * pauses it, and says how many are new.
 */

import { Button } from '@mantine/core';
import { IconPlayerPause, IconPlayerPlay, IconPlayerStop } from '@tabler/icons-react';
import { lazy, Suspense, useEffect, useMemo, useRef, useState } from 'react';
import { ApiError, isAbort } from '../api/client';
import type { EventRow } from '../api/types';
import { useConnection } from '../app/clientContext';
import { grouped, plural } from '../app/format';
import { Notice } from '../app/Notice';
import { useSelectedFields, useWrapLines, useZone } from '../app/preferences';
import { scroller } from '../app/useScroller';
import { isPlain } from '../compare/ranges';
import { EventItem } from '../events/EventItem';
import { Rows } from '../events/EventList';
import { fieldActions } from '../events/EventsView';
import { highlighter } from '../events/highlight';
import results from '../search/Results.module.css';
import { Empty } from '../states/Empty';
import styles from './LiveTail.module.css';
import { afterLook, EMPTY_TAIL, lookSearch, MOST_KEPT, MOST_PER_LOOK, type Tail } from './tail';

const EventDetails = lazy(() => import('../events/EventDetails'));

/** Milliseconds between two looks. */
const EVERY = 2_000;
/** Events whose own time is further from now are not looked for. */
const RANGE = { earliest: '-24h', latest: '+24h' };

interface LiveTailProps {
  app: string;
  query: string;
  onQuery: (query: string) => void;
  onStop: () => void;
}

export default function LiveTail(props: LiveTailProps) {
  return isPlain(props.query) ? (
    <Following key={props.query} {...props} />
  ) : (
    <div className={results.results}>
      <p className={results.note}>
        A live tail requires a search without commands, macros and subsearches.{' '}
        <button type="button" onClick={props.onStop}>
          Run it as a search
        </button>
      </p>
    </div>
  );
}

function Following({ app, query, onQuery, onStop }: LiveTailProps) {
  const [zone] = useZone();
  const [wrap] = useWrapLines();
  const [selected] = useSelectedFields();
  const [isPaused, setPaused] = useState(false);
  const [detailed, setDetailed] = useState<EventRow | null>(null);
  const { tail, error, rate } = useTail(app, query, isPaused);
  const [shown, setShown] = useState<Tail>(EMPTY_TAIL);
  const isHeld = useRef(false);
  const box = useRef<HTMLElement>(null);
  const actions = useMemo(() => fieldActions(query, onQuery), [query, onQuery]);
  const highlight = useMemo(() => highlighter([]), []);

  useEffect(() => {
    const isScrolled = (scroller()?.scrollTop ?? 0) > 40;
    const isSelected = !(document.getSelection()?.isCollapsed ?? true);
    if (!isHeld.current && !isScrolled && !isSelected) setShown(tail);
  }, [tail]);

  const fresh = tail.total - shown.total;
  const show = () => {
    scroller()?.scrollTo(0, 0);
    document.getSelection()?.removeAllRanges();
    setShown(tail);
  };
  const pages = useMemo(
    () => ({ want: () => {}, at: (place: number) => shown.rows[place] }),
    [shown],
  );
  const hold = (held: boolean) => () => {
    isHeld.current = held;
  };
  return (
    <section className={results.results} aria-label="Live tail" data-testid="live" ref={box}>
      <div className={styles.tools}>
        <Button
          size="compact-xs"
          variant="default"
          aria-pressed={isPaused}
          leftSection={isPaused ? <IconPlayerPlay size={13} /> : <IconPlayerPause size={13} />}
          onClick={() => setPaused((now) => !now)}
        >
          {isPaused ? 'Continue' : 'Pause'}
        </Button>
        <Button
          size="compact-xs"
          variant="default"
          leftSection={<IconPlayerStop size={13} />}
          onClick={onStop}
        >
          End the live tail
        </Button>
        <span role="status">
          {isPaused ? 'Paused' : `${rate} events/s`}, {plural(shown.rows.length, 'event')}
          {shown.rows.length === MOST_KEPT && ' (the oldest are dropped)'}
        </span>
        {fresh > 0 && (
          <Button size="compact-xs" onClick={show} data-testid="live-new">
            {grouped(fresh)} new
          </Button>
        )}
      </div>
      {error && <Notice kind="warning">{`${error.message}: trying again`}</Notice>}
      {tail.isThinned && (
        <Notice kind="info">{`More events arrive than can be shown: only the newest ${MOST_PER_LOOK} of each poll are shown.`}</Notice>
      )}
      {shown.rows.length === 0 && (
        <Empty title="Waiting for events that match">
          <p>Events that are already stored are not shown: use a search to find them.</p>
        </Empty>
      )}
      <div onPointerEnter={hold(true)} onPointerLeave={hold(false)} data-testid="live-rows">
        {shown.rows.length > 0 && (
          <Rows
            pages={pages}
            first={0}
            count={shown.rows.length}
            version={String(shown.total)}
            isLoading={false}
            wrap={wrap}
            item={(event, place) => (
              <EventItem
                event={event}
                place={place}
                total={shown.rows.length}
                selected={selected}
                zone={zone}
                highlight={highlight}
                actions={actions}
                onDetails={setDetailed}
              />
            )}
          />
        )}
      </div>
      {detailed && (
        <Suspense>
          <EventDetails
            event={detailed}
            actions={actions}
            onClose={() => setDetailed(null)}
            onLeave={() => setDetailed(null)}
          />
        </Suspense>
      )}
    </section>
  );
}

/** Looks again and again; not while it is paused or the page is hidden. */
function useTail(app: string, query: string, isPaused: boolean) {
  const { client, username } = useConnection();
  const [tail, setTail] = useState<Tail>(EMPTY_TAIL);
  const [rate, setRate] = useState(0);
  const [error, setError] = useState<ApiError | null>(null);
  const latest = useRef(tail);
  const [begun] = useState(() => performance.now());

  useEffect(() => {
    if (isPaused) return;
    const controller = new AbortController();
    let timer: ReturnType<typeof setTimeout>;
    let before = performance.now();
    const look = async () => {
      try {
        if (document.hidden) return;
        const now = performance.now();
        const search = lookSearch(query, latest.current, (now - begun) / 1_000);
        const request = { search, ...RANGE, timezone: 'UTC', namespace: { owner: username, app } };
        const found = await client.eventsOf(request, MOST_PER_LOOK, controller.signal);
        const next = afterLook(latest.current, found.events, found.total);
        setRate(Math.round((10_000 * (next.total - latest.current.total)) / (now - before)) / 10);
        before = now;
        latest.current = next;
        setTail(next);
        setError(null);
      } catch (failure) {
        if (isAbort(failure)) return;
        setError(failure instanceof ApiError ? failure : new ApiError('server', 0, []));
      } finally {
        if (!controller.signal.aborted) timer = setTimeout(() => void look(), EVERY);
      }
    };
    void look();
    return () => {
      controller.abort();
      clearTimeout(timer);
    };
  }, [client, username, app, query, isPaused, begun]);
  return { tail, error, rate };
}

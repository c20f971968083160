/** One event in a side panel: its fields, its text, its JSON, and the events of the same source around it. */

import { Button, Drawer, SegmentedControl, Tabs } from '@mantine/core';
import { IconCopy } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { ApiError } from '../api/client';
import type { EventRow } from '../api/types';
import { useConnection } from '../app/clientContext';
import { grouped, plural } from '../app/format';
import { PageLink } from '../app/PageLink';
import { useLastApp, useZone } from '../app/preferences';
import { addressOf, paths } from '../app/routing';
import { useFocusBack } from '../app/useFocusBack';
import { Failed } from '../states/Failed';
import { Skeleton } from '../states/Skeleton';
import { PartialStripe } from '../states/Stripe';
import { formatEventTime } from '../time/zone';
import styles from './EventDetails.module.css';
import { EventFields } from './EventFields';
import { RawText } from './EventItem';
import type { FieldActions } from './EventsView';
import { highlighter } from './highlight';
import { JsonTree, parseJsonEvent } from './JsonTree';
import { placeOf, surroundingOf, WINDOWS } from './surrounding';
import { valuesOf } from './values';

interface EventDetailsProps {
  event: EventRow;
  actions: FieldActions;
  onClose: () => void;
  /** Closes it before an action shows another search, where the address of that search does not. */
  onLeave?: () => void;
}

const plain = highlighter([]);
/** Surrounding events that are shown; the page says if there are more. */
const MOST_AROUND = 500;

export default function EventDetails({ event, actions, onClose, onLeave }: EventDetailsProps) {
  useFocusBack();
  const [zone] = useZone();
  const raw = valuesOf(event, '_raw')[0] ?? '';
  const time = formatEventTime(valuesOf(event, '_time')[0] ?? '', zone);
  const json = /^\s*[{[]/.test(raw) && raw.length < 1_000_000 ? parseJsonEvent(raw) : undefined;
  const leave = (act: () => void) => {
    onLeave?.();
    act();
  };
  const closing: FieldActions = {
    add: (field, value) => leave(() => actions.add(field, value)),
    exclude: (field, value) => leave(() => actions.exclude(field, value)),
    require: (field) => leave(() => actions.require(field)),
    report: (field, report) => leave(() => actions.report(field, report)),
    numbers: actions.numbers,
  };
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      size="min(820px, 100vw)"
      title={`Event at ${time}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
      data-testid="event-panel"
    >
      <Tabs defaultValue="around" keepMounted={false}>
        <Tabs.List>
          <Tabs.Tab value="around">Surrounding events</Tabs.Tab>
          <Tabs.Tab value="fields">Fields</Tabs.Tab>
          <Tabs.Tab value="raw">Text</Tabs.Tab>
          {json !== undefined && <Tabs.Tab value="json">JSON</Tabs.Tab>}
        </Tabs.List>
        <Tabs.Panel value="around" className={styles.part}>
          <Around event={event} zone={zone} />
        </Tabs.Panel>
        <Tabs.Panel value="fields" className={styles.part}>
          <div className={styles.code}>
            <EventFields event={event} actions={closing} />
          </div>
        </Tabs.Panel>
        <Tabs.Panel value="raw" className={styles.part}>
          <Button
            size="compact-xs"
            variant="default"
            leftSection={<IconCopy size={12} />}
            onClick={() => void navigator.clipboard?.writeText(raw)}
          >
            Copy
          </Button>
          <div className={styles.code}>
            <RawText raw={raw} highlight={plain} />
          </div>
        </Tabs.Panel>
        {json !== undefined && (
          <Tabs.Panel value="json" className={styles.part}>
            <div className={styles.code}>
              <JsonTree value={json} highlight={plain} />
            </div>
          </Tabs.Panel>
        )}
      </Tabs>
    </Drawer>
  );
}

function Around({ event, zone }: { event: EventRow; zone: string }) {
  const { client, username } = useConnection();
  const [app] = useLastApp();
  const [seconds, setSeconds] = useState<number>(WINDOWS[1].seconds);
  const around = surroundingOf(event, seconds);
  const list = useRef<HTMLOListElement>(null);
  const found = useQuery({
    queryKey: ['around', around?.search, around?.earliest, around?.latest],
    enabled: around !== null,
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      if (!around) throw new ApiError('rejected', 0, []);
      const { search, earliest, latest } = around;
      const namespace = { owner: username, app };
      const request = { search, earliest, latest, timezone: 'UTC', namespace };
      return client.eventsOf(request, MOST_AROUND, signal);
    },
  });
  const events = found.data?.events ?? [];
  const place = placeOf(event, events);

  // biome-ignore lint/correctness/useExhaustiveDependencies: other events are the reason
  useEffect(() => {
    list.current?.querySelector('[aria-current]')?.scrollIntoView({ block: 'center' });
  }, [found.data]);

  if (!around) return <p>The event has no timestamp.</p>;
  return (
    <>
      <div className={styles.tools}>
        <SegmentedControl
          size="xs"
          aria-label="Time around the event"
          data={WINDOWS.map((window) => ({ label: window.label, value: String(window.seconds) }))}
          value={String(seconds)}
          onChange={(value) => setSeconds(Number(value))}
        />
        <span>{found.data && plural(found.data.total, 'event')}</span>
        <PageLink
          href={addressOf(paths.search(app), {
            q: around.search,
            earliest: around.earliest,
            latest: around.latest,
          })}
        >
          Open in search
        </PageLink>
      </div>
      {found.error instanceof ApiError && (
        <Failed error={found.error} onRetry={() => void found.refetch()} />
      )}
      {found.isPending && <Skeleton lines={8} />}
      {found.data && found.data.total > events.length && (
        <PartialStripe>
          {`The newest ${grouped(events.length)} of ${grouped(found.data.total)} events: choose a shorter time range.`}
        </PartialStripe>
      )}
      {events.length > 0 && (
        <ol
          className={styles.around}
          ref={list}
          // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll it
          tabIndex={0}
          aria-label="Surrounding events"
          data-testid="surrounding"
        >
          {events.map((one, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: events have no identity of their own
            <li key={index} aria-current={index === place ? 'true' : undefined}>
              <time>{formatEventTime(valuesOf(one, '_time')[0] ?? '', zone).slice(11)}</time>
              <RawText raw={valuesOf(one, '_raw')[0] ?? ''} highlight={plain} />
            </li>
          ))}
        </ol>
      )}
    </>
  );
}

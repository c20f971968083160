/** One event: its time, its text with the searched words marked, and on demand all its fields. */

import { IconChevronRight } from '@tabler/icons-react';
import { memo, useState } from 'react';
import type { EventRow } from '../api/types';
import { grouped } from '../app/format';
import { Visible, VisiblePieces } from '../app/Visible';
import { formatEventTime } from '../time/zone';
import { EventFields, ValueMenu } from './EventFields';
import styles from './EventItem.module.css';
import type { FieldActions } from './EventsView';
import type { Highlighter } from './highlight';
import { JsonTree, parseJsonEvent } from './JsonTree';
import { isPlainClick } from './plainClick';
import { valuesOf } from './values';

interface EventItemProps {
  event: EventRow;
  /** Its place among all, from 0. */
  place: number;
  total: number;
  selected: string[];
  zone: string;
  highlight: Highlighter;
  actions: FieldActions;
  /** Opens the side panel with the event and those around it. */
  onDetails: (event: EventRow, place: number) => void;
}

/** Longer raw text is shown in part until asked for; the page says so. */
const SHOWN_CHARACTERS = 4_000;
/** What every further request shows: a line may have megabytes. */
const MORE_CHARACTERS = 100_000;
/** Longer JSON is not shown as a tree. */
const TREE_CHARACTERS = 1_000_000;

export const EventItem = memo(function EventItem(props: EventItemProps) {
  const { event, place, total, selected, zone, highlight, actions, onDetails } = props;
  const [isOpen, setOpen] = useState(false);
  const [asTree, setAsTree] = useState(false);
  const raw = valuesOf(event, '_raw')[0] ?? '';
  const time = valuesOf(event, '_time')[0] ?? '';
  const shownTime = formatEventTime(time, zone);
  const isJson = raw.length <= TREE_CHARACTERS && /^\s*[{[]/.test(raw);
  const json = asTree ? parseJsonEvent(raw) : undefined;
  return (
    <article
      className={styles.event}
      aria-posinset={place + 1}
      aria-setsize={total}
      aria-label={`Event at ${shownTime}`}
      data-testid="event"
    >
      <button
        type="button"
        className={styles.toggle}
        aria-expanded={isOpen}
        aria-label={`Fields of the event at ${shownTime}`}
        title="Show all fields"
        onClick={() => setOpen((open) => !open)}
      >
        <IconChevronRight size={13} aria-hidden="true" />
        <time dateTime={time}>{shownTime}</time>
      </button>
      <div className={styles.body}>
        {/* biome-ignore lint/a11y/useKeyWithClickEvents lint/a11y/noStaticElementInteractions: with the keyboard it is the button above */}
        <div
          onClick={({ target }) =>
            isPlainClick(target as Element, window.getSelection()) && setOpen(true)
          }
        >
          {json === undefined ? (
            <RawText raw={raw} highlight={highlight} />
          ) : (
            <JsonTree value={json} highlight={highlight} />
          )}
        </div>
        <div className={styles.selected}>
          {selected.map((field) =>
            valuesOf(event, field).map((value) => (
              <ValueMenu
                key={`${field}\u0000${value}`}
                field={field}
                value={value}
                actions={actions}
              >
                <span>
                  <Visible text={field} />=
                </span>
                <Visible text={value} />
              </ValueMenu>
            )),
          )}
          {isJson && (
            <button
              type="button"
              className={styles.tree}
              onClick={() => setAsTree((tree) => !tree)}
              data-testid="json-toggle"
            >
              {asTree ? 'Show as text' : 'Show as tree'}
            </button>
          )}
        </div>
        {isOpen && (
          <>
            <button
              type="button"
              className={styles.more}
              data-testid="event-details"
              onClick={() => onDetails(event, place)}
            >
              Details and surrounding events
            </button>
            <EventFields event={event} actions={actions} />
          </>
        )}
      </div>
    </article>
  );
});

export function RawText({ raw, highlight }: { raw: string; highlight: Highlighter }) {
  const [shown, setShown] = useState(SHOWN_CHARACTERS);
  const text = raw.slice(0, shown);
  const rest = raw.length - text.length;
  return (
    <div className={styles.raw}>
      <VisiblePieces pieces={highlight(text)} />
      {rest > 0 && (
        <button
          type="button"
          className={styles.more}
          onClick={() => setShown((before) => before + MORE_CHARACTERS)}
        >
          {rest <= MORE_CHARACTERS
            ? `… show all ${grouped(raw.length)} characters`
            : `… show ${grouped(MORE_CHARACTERS)} more of ${grouped(raw.length)} characters`}
        </button>
      )}
    </div>
  );
}

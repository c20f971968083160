/** How the server breaks a text into events: totals, then each event with its timestamp, warnings and fields. */

import { Button, Checkbox } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useState } from 'react';
import { readable } from '../api/messageText';
import { grouped } from '../app/format';
import { ListTable } from '../app/ListTable';
import { Notice } from '../app/Notice';
import { Pairs } from '../app/Pairs';
import { useZone } from '../app/preferences';
import objects from '../objects/Objects.module.css';
import { formatMoment } from '../time/zone';
import styles from './Preview.module.css';
import {
  type FieldPair,
  isDated,
  isOdd,
  type KeptEvent,
  type Preview,
  type PreviewEvent,
  remarks,
  shortPlace,
  timeOrigin,
  untroubled,
  whyItBegins,
} from './preview';

interface PreviewViewProps {
  preview: Preview;
  isStale: boolean;
  onMore: (() => void) | null;
}

/** Characters of an event that are drawn until more are asked for. */
const LONG = 3_000;

export function PreviewView({ preview, isStale, onMore }: PreviewViewProps) {
  const [isFiltered, setFiltered] = useState(false);
  const { events, warnings } = preview;
  const warned = events.filter((event) => event.warnings.length > 0);
  const shown = isFiltered && warned.length > 0 ? warned : events;
  return (
    <div
      className={styles.preview}
      data-testid="preview"
      data-stale={isStale || undefined}
      aria-busy={isStale}
    >
      <Totals preview={preview} />
      {warnings.map((warning) => (
        <Notice key={warning} kind="info">
          {readable(warning)}
        </Notice>
      ))}
      {warned.length > 0 && (
        <Checkbox
          size="xs"
          label={`Only events with warnings (${grouped(warned.length)})`}
          checked={isFiltered}
          onChange={(event) => setFiltered(event.currentTarget.checked)}
        />
      )}
      <ol className={styles.events}>
        {shown.map((event) => (
          <EventPreview key={event.at} event={event} />
        ))}
      </ol>
      {onMore && (
        <Button size="xs" variant="default" onClick={onMore}>
          More events
        </Button>
      )}
      <SettingsInForce preview={preview} />
    </div>
  );
}

function Totals({ preview }: { preview: Preview }) {
  const [zone] = useZone();
  const { totals, sourcetype, recognisedBy, charset } = preview;
  const notes = remarks(totals);
  const dropped = totals.kept === totals.events ? '' : `${grouped(totals.kept)} kept`;
  const time = (seconds: number | null) => (seconds === null ? '' : formatMoment(seconds, zone));
  const parts: [string, string][] = [
    ['Events', grouped(totals.events)],
    ['Source type', recognisedBy ? `${sourcetype}, ${recognisedBy}` : sourcetype],
    [`Earliest (${zone})`, time(totals.earliest)],
    ['Latest', time(totals.latest)],
    ['Character set', charset],
  ];
  return (
    <section className={styles.totals} aria-label="Totals">
      <dl>
        {parts
          .filter(([, value]) => value !== '')
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
      </dl>
      <p role="status" data-testid="preview-notes" data-warning={isOdd(totals) || undefined}>
        {[dropped, ...notes].filter(Boolean).join(', ') || untroubled(totals)}
      </p>
    </section>
  );
}

function EventPreview({ event }: { event: PreviewEvent }) {
  const [zone] = useZone();
  const [isOpen, setOpen] = useState(false);
  const number = event.kept.reduce(
    (sum, kept) => sum + kept.extracted.length + kept.indexed.length,
    0,
  );
  return (
    <li data-testid="preview-event" data-warned={event.warnings.length > 0 || undefined}>
      <div className={styles.when}>
        <span title={whyItBegins(event)}>Line {grouped(event.line)}</span>
        <b>{formatMoment(event.time, zone)}</b>
        <span>{isDated(event) ? timeOrigin(event) : `no timestamp: ${timeOrigin(event)}`}</span>
      </div>
      <div className={styles.what}>
        <EventText text={event.text} mark={event.mark} />
        {event.warnings.map((warning) => (
          <p key={warning} className={styles.warning}>
            <IconAlertTriangle size={13} aria-hidden="true" />
            {warning}
          </p>
        ))}
        <Button
          size="compact-sm"
          variant="subtle"
          color="gray"
          aria-expanded={isOpen}
          onClick={() => setOpen(!isOpen)}
        >
          {number === 1 ? '1 field' : `${grouped(number)} fields`}
        </Button>
        {isOpen && (
          <div className={styles.details} data-testid="preview-fields">
            <p>{whyItBegins(event)}.</p>
            {event.kept.length > 1 && (
              <p>A rule of transforms.conf makes {event.kept.length} events of it.</p>
            )}
            {event.kept.map((kept, place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: clones have no other name
              <Kept key={place} kept={kept} text={event.text} />
            ))}
          </div>
        )}
      </div>
    </li>
  );
}

function EventText({ text, mark }: { text: string; mark: PreviewEvent['mark'] }) {
  const [isWhole, setWhole] = useState(false);
  const end = isWhole ? text.length : LONG;
  const [from, to] = mark ?? [end, end];
  return (
    <>
      <pre>
        {text.slice(0, Math.min(from, end))}
        {mark && from < end && <mark>{text.slice(from, to)}</mark>}
        {to < end && text.slice(to, end)}
      </pre>
      {text.length > end && (
        <Button size="compact-sm" variant="default" onClick={() => setWhole(true)}>
          {grouped(text.length - end)} more characters
        </Button>
      )}
    </>
  );
}

function Kept({ kept, text }: { kept: KeptEvent; text: string }) {
  const origin: FieldPair[] = [
    ['index', kept.index],
    ['host', kept.host],
    ['source', kept.source],
    ['sourcetype', kept.sourcetype],
  ];
  return (
    <>
      {kept.raw !== text && (
        <>
          <p>Kept as:</p>
          <pre>{kept.raw.slice(0, LONG)}</pre>
        </>
      )}
      <Fields title="Extracted" fields={kept.extracted} />
      <Fields title="Indexed" fields={[...origin, ...kept.indexed]} />
    </>
  );
}

function Fields({ title, fields }: { title: string; fields: readonly FieldPair[] }) {
  return fields.length === 0 ? null : <Pairs title={title} pairs={fields} />;
}

function SettingsInForce({ preview }: { preview: Preview }) {
  const written = preview.settings.filter(({ place }) => place !== null);
  return (
    <details className={styles.inForce} data-testid="props-in-force">
      <summary>Effective settings ({preview.settings.length})</summary>
      <p className={objects.help}>
        {written.length} are set in files or here; the others have their defaults.
      </p>
      <ListTable
        columns={['Setting', 'Value', 'Stanza', 'Place', 'Used']}
        label="Effective settings"
      >
        {preview.settings.map((setting) => (
          <tr key={setting.name}>
            <td title={setting.about}>{setting.name}</td>
            <td className={styles.value}>{setting.value}</td>
            <td>{setting.stanza === null ? '' : `[${setting.stanza}]`}</td>
            <td>
              {setting.isTried
                ? 'changed here'
                : setting.place
                  ? shortPlace(setting.place)
                  : 'default'}
            </td>
            <td>{setting.isOfSearch ? 'by searches' : 'on arrival'}</td>
          </tr>
        ))}
      </ListTable>
    </details>
  );
}

/** Events: when they happened, which fields they have, and the events themselves by the page. */

import { lazy, Suspense, useMemo, useState } from 'react';
import type { EventRow } from '../api/types';
import { useSelectedFields } from '../app/preferences';
import { FieldList } from '../fields/FieldList';
import {
  withFieldPresent,
  withFieldValue,
  withoutFieldValue,
  withQuickReport,
} from '../query/rewrite';
import type { JobResultsProps } from '../search/Results';
import { useLoaded } from '../search/useLoaded';
import { EventList } from './EventList';
import styles from './EventsView.module.css';
import { Timeline } from './Timeline';

const EventDetails = lazy(() => import('./EventDetails'));

/** What a click on a field or value can do. */
export interface FieldActions {
  add: (field: string, value: string) => void;
  exclude: (field: string, value: string) => void;
  require: (field: string) => void;
  report: (field: string, report: Parameters<typeof withQuickReport>[2]) => void;
}

function fieldActions(query: string, onQuery: (query: string) => void): FieldActions {
  return {
    add: (field, value) => onQuery(withFieldValue(query, field, value)),
    exclude: (field, value) => onQuery(withoutFieldValue(query, field, value)),
    require: (field) => onQuery(withFieldPresent(query, field)),
    report: (field, report) => onQuery(withQuickReport(query, field, report)),
  };
}

export function EventsView({ client, sid, job, query, onQuery, onRange }: JobResultsProps) {
  const [selected, toggleField] = useSelectedFields();
  const [areFieldsShown, setFieldsShown] = useState(false);
  const [detailed, setDetailed] = useState<EventRow | null>(null);
  const version = `${job.eventCount}:${job.dispatchState}`;
  const timeline = useLoaded(sid, version, (signal) => client.timeline(sid, signal));
  const summary = useLoaded(sid, version, (signal) => client.summary(sid, signal));
  const actions = useMemo(() => fieldActions(query, onQuery), [query, onQuery]);
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
          onDetails={setDetailed}
        />
      </div>
      {detailed && (
        <Suspense>
          <EventDetails event={detailed} actions={actions} onClose={() => setDetailed(null)} />
        </Suspense>
      )}
    </div>
  );
}

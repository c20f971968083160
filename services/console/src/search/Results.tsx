/** What a search gave, in the views that fit its kind. */

import { Tabs } from '@mantine/core';
import { lazy, Suspense } from 'react';
import type { KarstClient } from '../api/client';
import type { JobStatus } from '../api/types';
import { grouped } from '../app/format';
import type { KnownFields } from '../editor/fields';
import { EventsView } from '../events/EventsView';
import type { OpenEvent } from '../events/openEvent';
import { eventsBehind } from '../query/rewrite';
import { Empty } from '../states/Empty';
import { Queued } from '../states/Queued';
import { Skeleton } from '../states/Skeleton';
import { ReportView } from '../statistics/ReportView';
import type { TimeRange } from '../time/timeRange';
import styles from './Results.module.css';
import type { SearchState } from './searchRun';
import type { ResultView } from './urlState';

const PatternsView = lazy(() => import('../patterns/PatternsView'));
const CompareView = lazy(() => import('../compare/CompareView'));

interface ResultsProps {
  client: KarstClient;
  app: string;
  state: SearchState;
  /** The view of the address; null for the one that fits. */
  view: ResultView | null;
  onView: (view: ResultView) => void;
  event: OpenEvent | null;
  onEvent: (event: OpenEvent | null, replace?: boolean) => void;
  onQuery: (query: string) => void;
  onRange: (range: TimeRange) => void;
  onFields: (found: Partial<KnownFields>) => void;
  onRetry: () => void;
}

export function Results({ state, onRetry, ...props }: ResultsProps) {
  const { job, sid, request, phase } = state;
  if (phase === 'failed') return null;
  if (phase === 'cancelled') {
    return (
      <Empty title="The search was cancelled">
        <button type="button" className={styles.link} onClick={onRetry}>
          Run it again
        </button>
      </Empty>
    );
  }
  if (!sid || !job || !request) return <Skeleton lines={8} label="The search is starting" />;
  if (job.dispatchState === 'QUEUED') return <Queued />;
  return <JobResults key={sid} sid={sid} job={job} query={request.query} {...props} />;
}

export interface JobResultsProps {
  client: KarstClient;
  /** The app whose knowledge objects the search uses. */
  app: string;
  sid: string;
  job: JobStatus;
  query: string;
  onQuery: (query: string) => void;
  onRange: (range: TimeRange) => void;
  /** Gets the names of fields as soon as they are known. */
  onFields: (found: Partial<KnownFields>) => void;
}

function defaultView(job: JobStatus): ResultView {
  if (job.reportSearch === null) return 'events';
  return /(^|\|)\s*(timechart|chart)\b/i.test(job.reportSearch) ? 'visualizations' : 'statistics';
}

export interface JobEventsProps extends JobResultsProps {
  /** The event whose details are open. */
  event: OpenEvent | null;
  /** `replace`: Back does not lead to the one of now. */
  onEvent: (event: OpenEvent | null, replace?: boolean) => void;
}

interface JobViewsProps extends JobEventsProps {
  view: ResultView | null;
  onView: (view: ResultView) => void;
}

function JobResults({ view: chosen, onView, event, onEvent, ...props }: JobViewsProps) {
  const { job, query, onQuery } = props;
  const isReport = job.reportSearch !== null;
  const isForEvents = chosen === 'patterns' || chosen === 'compare';
  const view = chosen === null || (isReport && isForEvents) ? defaultView(job) : chosen;
  const isOfEvents = view === 'patterns' || view === 'compare';
  return (
    <Tabs
      className={styles.results}
      value={view}
      onChange={(value) => onView(value as ResultView)}
      keepMounted={false}
    >
      <Tabs.List>
        <Tabs.Tab value="events" data-testid="tab-events">
          Events <span className={styles.count}>{grouped(job.eventCount)}</span>
        </Tabs.Tab>
        {!isReport && (
          <>
            <Tabs.Tab value="patterns" data-testid="tab-patterns">
              Patterns
            </Tabs.Tab>
            <Tabs.Tab value="compare" data-testid="tab-compare">
              Compare
            </Tabs.Tab>
          </>
        )}
        <Tabs.Tab value="statistics" data-testid="tab-statistics">
          Statistics{' '}
          {isReport && <span className={styles.count}>{grouped(job.resultPreviewCount)}</span>}
        </Tabs.Tab>
        <Tabs.Tab value="visualizations" data-testid="tab-visualization">
          Visualization
        </Tabs.Tab>
      </Tabs.List>
      <Tabs.Panel value={view} className={styles.panel}>
        {view === 'events' &&
          (isReport ? (
            <BehindReport query={query} onQuery={onQuery} />
          ) : (
            <EventsView {...props} event={event} onEvent={onEvent} />
          ))}
        {isOfEvents && (
          <Suspense fallback={<Skeleton lines={6} />}>
            {view === 'patterns' ? <PatternsView {...props} /> : <CompareView {...props} />}
          </Suspense>
        )}
        {view !== 'events' &&
          !isOfEvents &&
          (isReport ? (
            <ReportView {...props} view={view} />
          ) : (
            <NoReport query={query} onQuery={onQuery} />
          ))}
      </Tabs.Panel>
    </Tabs>
  );
}

interface SuggestionProps {
  query: string;
  onQuery: (query: string) => void;
}

function BehindReport({ query, onQuery }: SuggestionProps) {
  const search = eventsBehind(query);
  return (
    <p className={styles.note}>
      This search is a report and keeps no events. Show the events that it counts:{' '}
      <button type="button" onClick={() => onQuery(search)}>
        {search}
      </button>
    </p>
  );
}

function NoReport({ query, onQuery }: SuggestionProps) {
  const searches = ['stats count by host', 'timechart count', 'top sourcetype'].map(
    (command) => `${query || '*'} | ${command}`,
  );
  return (
    <div className={styles.note}>
      This search returns events. Add a command that makes a table for statistics and charts:
      {searches.map((search) => (
        <div key={search}>
          <button type="button" onClick={() => onQuery(search)}>
            {search}
          </button>
        </div>
      ))}
    </div>
  );
}

/** What a search gave, in the views that fit its kind. */

import { Tabs } from '@mantine/core';
import { useState } from 'react';
import type { KarstClient } from '../api/client';
import type { JobStatus } from '../api/types';
import { grouped } from '../app/format';
import { EventsView } from '../events/EventsView';
import { InspectorView } from '../inspector/InspectorView';
import { eventsBehind } from '../query/rewrite';
import { ReportView } from '../statistics/ReportView';
import type { TimeRange } from '../time/timeRange';
import styles from './Results.module.css';
import type { SearchState } from './searchRun';

type View = 'events' | 'statistics' | 'visualization' | 'inspector';

interface ResultsProps {
  client: KarstClient;
  state: SearchState;
  onQuery: (query: string) => void;
  onRange: (range: TimeRange) => void;
}

export function Results({ client, state, onQuery, onRange }: ResultsProps) {
  const { job, sid, request, phase } = state;
  if (!sid || !job || !request || phase === 'failed') return null;
  if (phase === 'cancelled') return <p className={styles.note}>The search was cancelled.</p>;
  return (
    <JobResults
      key={sid}
      client={client}
      sid={sid}
      job={job}
      query={request.query}
      onQuery={onQuery}
      onRange={onRange}
    />
  );
}

export interface JobResultsProps {
  client: KarstClient;
  sid: string;
  job: JobStatus;
  query: string;
  onQuery: (query: string) => void;
  onRange: (range: TimeRange) => void;
}

function defaultView(job: JobStatus): View {
  if (job.reportSearch === null) return 'events';
  return /(^|\|)\s*(timechart|chart)\b/i.test(job.reportSearch) ? 'visualization' : 'statistics';
}

function JobResults(props: JobResultsProps) {
  const { job, query, onQuery } = props;
  const [chosen, setChosen] = useState<View | null>(null);
  const isReport = job.reportSearch !== null;
  const view = chosen ?? defaultView(job);
  return (
    <Tabs
      className={styles.results}
      value={view}
      onChange={(value) => setChosen(value as View)}
      keepMounted={false}
    >
      <Tabs.List>
        <Tabs.Tab value="events" data-testid="tab-events">
          Events <span className={styles.count}>{grouped(job.eventCount)}</span>
        </Tabs.Tab>
        <Tabs.Tab value="statistics" data-testid="tab-statistics">
          Statistics{' '}
          {isReport && <span className={styles.count}>{grouped(job.resultPreviewCount)}</span>}
        </Tabs.Tab>
        <Tabs.Tab value="visualization" data-testid="tab-visualization">
          Visualization
        </Tabs.Tab>
        <Tabs.Tab value="inspector" data-testid="tab-inspector">
          Job inspector
        </Tabs.Tab>
      </Tabs.List>
      {view === 'inspector' && <InspectorView {...props} />}
      {view === 'events' &&
        (isReport ? <BehindReport query={query} onQuery={onQuery} /> : <EventsView {...props} />)}
      {(view === 'statistics' || view === 'visualization') &&
        (isReport ? (
          <ReportView {...props} view={view} />
        ) : (
          <NoReport query={query} onQuery={onQuery} />
        ))}
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
      This search makes a report and keeps no events. Look at what it counts:{' '}
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
      This search gives events. A command that makes a table gives statistics and charts:
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

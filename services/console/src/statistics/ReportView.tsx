/** A report's rows, loaded once for the table and the chart, previews while the search runs. */

import { lazy, Suspense, useEffect, useMemo } from 'react';
import { grouped } from '../app/format';
import { Notice } from '../app/Notice';
import { navigate, paths } from '../app/routing';
import { IndexTip } from '../events/IndexTip';
import { JobError } from '../search/JobError';
import type { JobResultsProps } from '../search/Results';
import { writeAddress } from '../search/urlState';
import { useLoaded } from '../search/useLoaded';
import { Empty } from '../states/Empty';
import { Skeleton } from '../states/Skeleton';
import { PreviewStripe } from '../states/Stripe';
import type { Behind } from './drilldown';
import styles from './ReportView.module.css';
import { StatisticsTable } from './StatisticsTable';
import { visibleTable } from './table';

const ReportChart = lazy(() => import('./ReportChart'));

/** Rows held in the page at most; what is beyond is said and can be saved as a file. */
const ROW_LIMIT = 10_000;
/** Rows of a preview, which is loaded again and again while the search runs. */
const PREVIEW_ROWS = 500;

interface ReportViewProps extends JobResultsProps {
  view: 'statistics' | 'visualizations';
}

export function ReportView({ client, app, sid, job, view, query, ...props }: ReportViewProps) {
  const { onQuery, onRange, onFields } = props;
  const version = `${job.isDone}:${job.numPreviews}`;
  const which = job.isDone ? 'results' : 'results_preview';
  const { value, error, loading } = useLoaded(sid, version, (signal) =>
    client.rows(sid, which, { offset: 0, count: job.isDone ? ROW_LIMIT : PREVIEW_ROWS }, signal),
  );
  const showEvents = ({ query: behind, range }: Behind) => {
    if (range === null) return onQuery(behind);
    const next = { request: { query: behind, range }, sid: null, report: null, view: null };
    navigate(writeAddress(paths.search(app), next));
  };
  const table = useMemo(() => (value ? visibleTable(value) : null), [value]);
  const columns = value?.fields;
  useEffect(() => {
    if (columns) onFields({ columns });
  }, [columns, onFields]);

  if (!table) {
    if (!error) return <Skeleton label="Waiting for the first rows" />;
    return (
      <div className={styles.note}>
        <JobError error={error} query={query} onAgain={() => onQuery(query)} />
      </div>
    );
  }
  return (
    <div className={styles.view} aria-busy={loading}>
      {error && <JobError error={error} query={query} onAgain={() => onQuery(query)} />}
      {job.isDone && job.resultCount > table.rows.length && table.rows.length > 0 && (
        <Notice kind="warning">
          {`The first ${grouped(table.rows.length)} of ${grouped(job.resultCount)} rows are shown; `}
          sorting and charts use only these. Save the results to get all of them.
        </Notice>
      )}
      {table.rows.length === 0 && (
        <Empty title={job.isDone ? 'The report has no rows' : 'No rows yet'} testId="no-rows">
          {job.isDone && (
            <ul>
              <IndexTip query={query} job={job} onRange={onRange} />
              <li>Try a longer time range.</li>
              <li>Look at the events before the first command that makes a table.</li>
              <li>Check the names of fields: they are case-sensitive.</li>
            </ul>
          )}
        </Empty>
      )}
      {!job.isDone && value?.preview && (
        <PreviewStripe>
          Preview of {grouped(job.eventCount)} events
          {job.resultPreviewCount > table.rows.length &&
            `: the first ${grouped(table.rows.length)} of ${grouped(job.resultPreviewCount)} rows`}
          . The search is still running.
        </PreviewStripe>
      )}
      {table.rows.length > 0 && view === 'statistics' && (
        <StatisticsTable table={table} query={query} onEvents={showEvents} />
      )}
      {table.rows.length > 0 && view === 'visualizations' && (
        <Suspense fallback={<Skeleton label="Loading the chart" />}>
          <ReportChart table={table} query={query} onEvents={showEvents} />
        </Suspense>
      )}
    </div>
  );
}

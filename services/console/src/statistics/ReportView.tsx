/** A report's rows, loaded once for the table and the chart, previews while the search runs. */

import { useMemo } from 'react';
import { explainJobError } from '../api/explain';
import { grouped } from '../app/format';
import { Notice } from '../app/Notice';
import type { JobResultsProps } from '../search/Results';
import { useLoaded } from '../search/useLoaded';
import { ChartView } from '../visualization/ChartView';
import styles from './ReportView.module.css';
import { StatisticsTable } from './StatisticsTable';
import { visibleTable } from './table';

/** Rows held in the page at most; what is beyond is said and can be saved as a file. */
const ROW_LIMIT = 10_000;

interface ReportViewProps extends JobResultsProps {
  view: 'statistics' | 'visualization';
}

export function ReportView({ client, sid, job, view }: ReportViewProps) {
  const version = `${job.isDone}:${job.numPreviews}`;
  const which = job.isDone ? 'results' : 'results_preview';
  const { value, error, loading } = useLoaded(sid, version, (signal) =>
    client.rows(sid, which, { offset: 0, count: ROW_LIMIT }, signal),
  );
  const table = useMemo(() => (value ? visibleTable(value) : null), [value]);

  if (!table) {
    return (
      <div className={styles.note}>
        {error ? (
          <Notice kind="error">{explainJobError(error)}</Notice>
        ) : (
          'Waiting for the first rows …'
        )}
      </div>
    );
  }
  return (
    <div className={styles.view} aria-busy={loading}>
      {error && <Notice kind="error">{explainJobError(error)}</Notice>}
      {job.isDone && job.resultCount > table.rows.length && table.rows.length > 0 && (
        <Notice kind="warning">
          {`The first ${grouped(table.rows.length)} of ${grouped(job.resultCount)} rows are shown; `}
          sorting and charts use these. Save the results to have all of them.
        </Notice>
      )}
      {table.rows.length === 0 && (
        <p className={styles.note} data-testid="no-rows">
          {job.isDone ? 'The report has no rows.' : 'No rows yet.'}
        </p>
      )}
      {!job.isDone && value?.preview && (
        <p className={styles.preview} data-testid="preview">
          A preview: the rows so far, of {grouped(job.eventCount)} events. The search is still
          running.
        </p>
      )}
      {table.rows.length > 0 && view === 'statistics' && <StatisticsTable table={table} />}
      {table.rows.length > 0 && view === 'visualization' && <ChartView table={table} />}
    </div>
  );
}

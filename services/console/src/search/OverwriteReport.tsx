/** Asks before the report of the page gets the search and the time range that the page shows. */

import { useQuery, useQueryClient } from '@tanstack/react-query';
import { ApiError } from '../api/client';
import code from '../app/Code.module.css';
import { ConfirmDialog } from '../app/ConfirmDialog';
import { useClient } from '../app/clientContext';
import { Notice } from '../app/Notice';
import { useZone } from '../app/preferences';
import { isChangeable } from '../objects/ObjectDialog';
import { asReport } from '../query/typed';
import { reports } from '../reports/reportKind';
import { REPORTS } from '../reports/reportLists';
import { rangeLabel } from '../time/timeRange';
import styles from './SaveReport.module.css';
import { reportOf, type SearchRequest } from './urlState';

interface OverwriteReportProps {
  app: string;
  /** The report as the address has it. */
  link: string;
  request: SearchRequest;
  onClose: () => void;
  onSaved: (name: string) => void;
}

export default function OverwriteReport({ app, link, request, ...props }: OverwriteReportProps) {
  const client = useClient();
  const queries = useQueryClient();
  const [zone] = useZone();
  const { name, ...namespace } = reportOf(link, app);
  const { data: report, error } = useQuery({
    queryKey: [...REPORTS, namespace, name],
    queryFn: ({ signal }) => client.report(namespace, name, signal),
  });
  const isFixed = report !== undefined && !isChangeable(reports, report.entry);
  const save = async () => {
    if (!report || isFixed) return Promise.reject(error ?? new ApiError('forbidden', 403, []));
    await client.change(report.entry.path, {
      search: asReport(request.query),
      'dispatch.earliest_time': request.range.earliest,
      'dispatch.latest_time': request.range.latest,
    });
    await queries.invalidateQueries({ queryKey: REPORTS });
    props.onSaved(name);
  };
  return (
    <ConfirmDialog
      title="Save the report?"
      action="Save"
      testId="overwrite-report"
      onConfirm={save}
      onClose={props.onClose}
    >
      {(error || isFixed) && (
        <Notice kind="error">
          {error
            ? error.message
            : 'The report is built in, or you may not change it: save the search as another report.'}
        </Notice>
      )}
      <p className={styles.note}>
        The search and the time range of <b>{name}</b>
        {report && ` of ${report.owner} in ${report.app}`} are replaced by these:
      </p>
      <pre className={`${code.code} ${styles.search}`}>{asReport(request.query)}</pre>
      <p className={styles.note}>Time range: {rangeLabel(request.range, zone)}</p>
    </ConfirmDialog>
  );
}

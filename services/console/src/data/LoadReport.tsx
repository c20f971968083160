/** What the server has made of a text that was loaded, with the first events. */

import type { ResultRows } from '../api/types';
import { plural } from '../app/format';
import { ListTable } from '../app/ListTable';
import { Notice } from '../app/Notice';
import { PageLink } from '../app/PageLink';
import { useZone } from '../app/preferences';
import { addressOf, paths } from '../app/routing';
import objects from '../objects/Objects.module.css';
import { cellText } from '../statistics/table';
import styles from './AddData.module.css';
import { type LoadReport, shownValue } from './loadReport';

export interface Loaded {
  report: LoadReport;
  /** The search that finds the events. */
  where: string;
  rows: ResultRows | null;
  /** Why its events do not stay; null where they do. */
  warning: string | null;
}

export function LoadReportView({ app, report, where, rows, warning }: Loaded & { app: string }) {
  const [zone] = useZone();
  return (
    <section className={styles.report} aria-live="polite" data-testid="load-report">
      <h2>
        Loaded: {plural(report.events, 'event')}
        {report.sourcetype && ` of the source type ${report.sourcetype}`}
      </h2>
      {report.span && <p>{report.span}</p>}
      {warning && <Notice kind="warning">{warning}</Notice>}
      {report.notes.map((note) => (
        <Notice key={note} kind="info">
          {note}
        </Notice>
      ))}
      {rows && rows.rows.length > 0 && (
        <ListTable columns={rows.fields} label="First events">
          {rows.rows.map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name
            <tr key={at}>
              {rows.fields.map((field, place) => (
                <td key={field}>{shownValue(field, cellText(row[place] ?? null), zone)}</td>
              ))}
            </tr>
          ))}
        </ListTable>
      )}
      <PageLink
        className={objects.link}
        href={addressOf(paths.search(app), { q: where, earliest: '0', latest: '' })}
      >
        Search these events
      </PageLink>
    </section>
  );
}

/** What the server has made of a text that was loaded, with the first events. */

import type { ResultRows } from '../api/types';
import { plural } from '../app/format';
import list from '../app/List.module.css';
import { Notice } from '../app/Notice';
import { PageLink } from '../app/PageLink';
import { addressOf, paths } from '../app/routing';
import objects from '../objects/Objects.module.css';
import { cellText } from '../statistics/table';
import styles from './AddData.module.css';
import type { LoadReport } from './loadReport';

export interface Loaded {
  report: LoadReport;
  /** The search that finds the events. */
  where: string;
  rows: ResultRows | null;
}

export function LoadReportView({ app, report, where, rows }: Loaded & { app: string }) {
  return (
    <section className={styles.report} aria-live="polite" data-testid="load-report">
      <h2>
        Loaded: {plural(report.events, 'event')}
        {report.sourcetype && ` of the source type ${report.sourcetype}`}
      </h2>
      {report.span && <p>{report.span}</p>}
      {report.notes.map((note) => (
        <Notice key={note} kind="info">
          {note}
        </Notice>
      ))}
      {rows && rows.rows.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways is reached by keys
        <section className={list.scroll} tabIndex={0} aria-label="First events">
          <table className={list.table}>
            <thead>
              <tr>
                {rows.fields.map((field) => (
                  <th key={field} scope="col">
                    {field}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.rows.map((row, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name
                <tr key={at}>
                  {row.map((cell, place) => (
                    <td key={rows.fields[place]}>{cellText(cell)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
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

/** Events as they were written: a list, raw text only, or a table. */

import { useState } from 'react';
import { Pager } from '../../app/Pager';
import { useZone } from '../../app/preferences';
import { cellText } from '../../statistics/table';
import { formatEventTime } from '../../time/zone';
import { useDashboard } from '../DashboardContext';
import { showsEventsBehind } from '../model/drilldownOption';
import { flag, numberOf } from '../model/values';
import type { ResultsProps } from './ElementView';
import styles from './EventElement.module.css';
import { TableElement } from './TableElement';

/** Events of a page where the author says nothing. */
const EVENTS = 10;
/** Characters of an event; a line of megabytes must not stop the page. */
const MOST_CHARACTERS = 10_000;

export function EventElement(props: ResultsProps) {
  const { element, options, state } = props;
  const { run } = useDashboard();
  const [zone] = useZone();
  const [page, setPage] = useState(1);
  const type = options.get('type')?.toLowerCase() ?? 'list';
  const { rows } = state;
  if (!rows) return null;
  const raw = rows.fields.indexOf('_raw');
  if (type === 'table' || raw === -1) return <TableElement {...props} />;
  const time = rows.fields.indexOf('_time');
  const size = Math.min(500, numberOf(options.get('count')) || EVENTS);
  const last = Math.max(1, Math.ceil(rows.rows.length / size));
  const first = (Math.min(page, last) - 1) * size;
  const lines = numberOf(options.get('maxlines')) ?? 5;
  const hasNumbers = flag(options.get('rownumbers') ?? options.get('displayrownumbers'), true);
  const named = element.fields.length > 0 ? element.fields : ['host', 'source', 'sourcetype'];
  const shown = named
    .map((name) => ({ name, at: rows.fields.indexOf(name) }))
    .filter(({ name, at }) => at !== -1 && !name.startsWith('_'));
  const isClickable = element.drilldown !== null || showsEventsBehind('event', options);
  const click = (row: (typeof rows.rows)[number], name: string, at: number, newTab: boolean) => {
    const cells = new Map(rows.fields.map((field, index) => [field, cellText(row[index] ?? null)]));
    const value = cellText(row[at] ?? null);
    run.click(element, { name, value, name2: name, value2: value, row: cells }, newTab);
  };
  return (
    <>
      <ol
        className={styles.list}
        start={first + 1}
        data-numbers={hasNumbers}
        data-wrap={flag(
          options.get(`${type}.wrap`) ?? options.get('wrap') ?? options.get('softwrap'),
          true,
        )}
        data-testid="dashboard-events"
      >
        {rows.rows.slice(first, first + size).map((row, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: rows have no identity of their own
          <li key={first + index} className={styles.event}>
            {type === 'list' && time !== -1 && (
              <time>{formatEventTime(cellText(row[time] ?? null), zone)}</time>
            )}
            <div className={styles.body}>
              <pre>{shortened(cellText(row[raw] ?? null), lines)}</pre>
              {type === 'list' && (
                <div className={styles.fields}>
                  {shown.map(({ name, at }) => (
                    <span key={name}>
                      {name} ={' '}
                      {isClickable ? (
                        <button
                          type="button"
                          onClick={(event) => click(row, name, at, event.ctrlKey || event.metaKey)}
                        >
                          {cellText(row[at] ?? null)}
                        </button>
                      ) : (
                        cellText(row[at] ?? null)
                      )}
                    </span>
                  ))}
                </div>
              )}
            </div>
          </li>
        ))}
      </ol>
      {rows.rows.length > size && (
        <div className={styles.pager}>
          <Pager
            page={Math.min(page, last)}
            size={size}
            total={rows.rows.length}
            noun="event"
            onPage={setPage}
          />
        </div>
      )}
    </>
  );
}

/** The first lines; 0 for all. */
function shortened(text: string, most: number): string {
  const cut =
    text.length > MOST_CHARACTERS
      ? `${text.slice(0, MOST_CHARACTERS)}… (${text.length} characters)`
      : text;
  const lines = cut.split('\n');
  if (most <= 0 || lines.length <= most) return cut;
  return `${lines.slice(0, most).join('\n')}\n… ${lines.length - most} more lines`;
}

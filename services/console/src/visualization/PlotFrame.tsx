/** What is drawn of results, and the table of them for who does not see it. */

import { type ReactNode, useState } from 'react';
import type { ResultRows } from '../api/types';
import styles from './Plot.module.css';

interface PlotFrameProps {
  results: ResultRows;
  /** Pixels. */
  height: number;
  label: string;
  /** What the button calls the drawing. */
  word?: 'chart' | 'map';
  /** What is to be known of it, above. */
  note?: string | null;
  /** The drawing. */
  children: ReactNode;
  /** What is below the drawing and the table alike. */
  below?: ReactNode;
}

export function PlotFrame(props: PlotFrameProps) {
  const { results, height, label, word = 'chart', note, children, below } = props;
  const [asTable, setAsTable] = useState(false);
  return (
    <div className={styles.plot}>
      {note && <p className={styles.note}>{note}</p>}
      {asTable ? <PlotTable results={results} height={height} label={label} /> : children}
      {below}
      <button type="button" className={styles.toggle} onClick={() => setAsTable(!asTable)}>
        {asTable ? `Show as ${word}` : 'Show as table'}
      </button>
    </div>
  );
}

function PlotTable({
  results,
  height,
  label,
}: {
  results: ResultRows;
  height: number;
  label: string;
}) {
  const columns = results.fields
    .map((name, index) => ({ name, index }))
    .filter(({ name }) => !name.startsWith('_') || name === '_time');
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
    <section className={styles.table} style={{ maxHeight: height }} tabIndex={0} aria-label={label}>
      <table>
        <thead>
          <tr>
            {columns.map(({ name }) => (
              <th key={name} scope="col">
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {results.rows.slice(0, 500).map((row, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: rows have no identity of their own
            <tr key={at}>
              {columns.map(({ name, index }) => (
                <td key={name}>{String(row[index] ?? '')}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {results.rows.length > 500 && <p>The first 500 of {results.rows.length} rows.</p>}
    </section>
  );
}

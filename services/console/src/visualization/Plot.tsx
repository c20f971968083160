/** A chart of a dashboard with clicks, a name, and a table for who does not see it. Draws when it is in sight. */

import { useComputedColorScheme } from '@mantine/core';
import { lazy, Suspense, useRef, useState } from 'react';
import type { ResultRows } from '../api/types';
import { useZone } from '../app/preferences';
import { GaugeBar } from './GaugeBar';
import styles from './Plot.module.css';
import { MOST_CATEGORIES, type PlotData, type PlotLook, plotSummary } from './plot';

const PlotCanvas = lazy(() => import('./PlotCanvas'));

export interface PlotClick {
  row: number;
  /** The index among the series; -1 where there is none. */
  series: number;
}

export interface PlotProps {
  data: PlotData;
  look: PlotLook;
  height: number;
  label: string;
  results: ResultRows;
  onClick?: ((click: PlotClick, newTab: boolean) => void) | undefined;
  /** Hears of a span that is selected with the mouse: rows from and to. */
  onSelect?: ((first: number, last: number) => void) | undefined;
}

export function Plot(props: PlotProps) {
  const { data, look, height, label, results } = props;
  const scheme = useComputedColorScheme('light');
  const [zone] = useZone();
  const box = useRef<HTMLDivElement>(null);
  const [asTable, setAsTable] = useState(false);
  const summary = `${label ? `${label}: ` : ''}${plotSummary(data, look.kind)}`;
  const isBar = look.kind === 'fillerGauge' || look.kind === 'markerGauge';
  return (
    <div className={styles.plot} ref={box}>
      {results.rows.length > MOST_CATEGORIES && (
        <p className={styles.note}>
          The chart shows the first {MOST_CATEGORIES} of {results.rows.length} rows.
        </p>
      )}
      {asTable ? (
        <PlotTable results={results} height={height} label={summary} />
      ) : (
        <div
          role="img"
          aria-label={summary}
          style={{ height }}
          data-testid="plot"
          data-kind={look.kind}
        >
          {isBar ? (
            <GaugeBar data={data} look={look} />
          ) : (
            <Suspense fallback={null}>
              <PlotCanvas {...props} zone={zone} scheme={scheme} />
            </Suspense>
          )}
        </div>
      )}
      <button type="button" className={styles.toggle} onClick={() => setAsTable(!asTable)}>
        {asTable ? 'Show as chart' : 'Show as table'}
      </button>
    </div>
  );
}

export function PlotTable({
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

/** A chart of a dashboard with clicks, a name, and a table for who does not see it. Draws when it is in sight. */

import { useComputedColorScheme } from '@mantine/core';
import { lazy, Suspense } from 'react';
import type { ResultRows } from '../api/types';
import { grouped } from '../app/format';
import { useZone } from '../app/preferences';
import { GaugeBar } from './GaugeBar';
import { PlotFrame } from './PlotFrame';
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
  const summary = `${label ? `${label}: ` : ''}${plotSummary(data, look.kind)}`;
  const isBar = look.kind === 'fillerGauge' || look.kind === 'markerGauge';
  const all = results.rows.length;
  return (
    <PlotFrame
      results={results}
      height={height}
      label={summary}
      note={
        all > MOST_CATEGORIES
          ? `The chart shows the first ${grouped(MOST_CATEGORIES)} of ${grouped(all)} rows.`
          : null
      }
    >
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
    </PlotFrame>
  );
}

import { Checkbox, SegmentedControl, useComputedColorScheme } from '@mantine/core';
import { lazy, Suspense, useMemo, useState } from 'react';
import { grouped } from '../app/format';
import { Notice } from '../app/Notice';
import { useZone } from '../app/preferences';
import { SANS } from '../app/theme';
import type { Row, Table } from '../statistics/table';
import styles from './ChartView.module.css';
import {
  CATEGORY_LIMIT,
  CHART_KINDS,
  type ChartKind,
  chartModel,
  clickedCell,
  defaultKind,
} from './chartModel';
import { chartOptions, type Look, PALETTE_DARK, PALETTE_LIGHT } from './chartOptions';
import { SingleValue } from './SingleValue';

const Chart = lazy(() => import('./Chart'));

interface ChartViewProps {
  table: Table;
  /** Hears of a value that is clicked; without it, clicks lead nowhere. */
  onCell?: ((row: Row, column: number) => void) | undefined;
}

const LIGHT: Look = {
  text: '#1c2429',
  muted: '#5d6a73',
  line: '#e1e5e8',
  surface: '#ffffff',
  font: SANS,
  palette: PALETTE_LIGHT,
};
const DARK: Look = {
  text: '#dde3e7',
  muted: '#9aa7b0',
  line: '#2c343a',
  surface: '#1b2024',
  font: SANS,
  palette: PALETTE_DARK,
};

export function ChartView({ table, onCell }: ChartViewProps) {
  const [zone] = useZone();
  const look = useComputedColorScheme('light') === 'dark' ? DARK : LIGHT;
  const [chosen, setChosen] = useState<ChartKind | null>(null);
  const [stacked, setStacked] = useState(false);
  const model = useMemo(() => chartModel(table), [table]);
  const kind = chosen ?? defaultKind(model);
  const canStack = model.series.length > 1 && kind !== 'pie' && kind !== 'single';
  const options = useMemo(
    () => (kind === 'single' ? null : chartOptions(model, kind, stacked && canStack, zone, look)),
    [model, kind, stacked, canStack, zone, look],
  );

  const click = (category: number, series: number) => {
    const cell = clickedCell(model, table, category, series);
    if (cell) onCell?.(cell.row, cell.column);
  };
  if (model.series.length === 0) {
    return (
      <p className={styles.note}>
        A chart needs a column of numbers; these results have none. The table shows them all.
      </p>
    );
  }
  return (
    <div className={styles.view} data-testid="visualization" data-kind={kind}>
      <div className={styles.tools}>
        <SegmentedControl
          size="xs"
          className={styles.kinds}
          aria-label="Kind of chart"
          data={CHART_KINDS.map((choice) => ({ value: choice.kind, label: choice.label }))}
          value={kind}
          onChange={(value) => setChosen(value as ChartKind)}
        />
        {canStack && (
          <Checkbox
            size="xs"
            label="Stacked"
            checked={stacked}
            onChange={(event) => setStacked(event.currentTarget.checked)}
          />
        )}
      </div>
      {table.rows.length > CATEGORY_LIMIT && (
        <Notice kind="warning">
          {`The chart shows the first ${grouped(CATEGORY_LIMIT)} of ${grouped(table.rows.length)} rows.`}
        </Notice>
      )}
      {kind === 'pie' && model.series.length > 1 && (
        <Notice kind="info">{`A pie shows one column: ${model.series[0]?.name}.`}</Notice>
      )}
      {options ? (
        <Suspense fallback={<div className={styles.note}>Loading the chart …</div>}>
          <Chart
            options={options}
            height={chartHeight(kind, model.categories.length)}
            onClick={onCell && click}
          />
        </Suspense>
      ) : (
        <SingleValue model={model} />
      )}
    </div>
  );
}

/** As high as the window has room for; bars take what they need to be read. */
function chartHeight(kind: ChartKind, categories: number): string {
  const needed = kind === 'bar' ? Math.min(8000, 22 * categories + 40) : 0;
  return `max(${needed}px, 340px, min(720px, 100vh - 300px))`;
}

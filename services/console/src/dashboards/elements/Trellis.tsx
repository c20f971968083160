/** An element as one, or split: the panels of a trellis side by side, each drawn when it comes near what is seen. */

import { type ReactNode, useMemo } from 'react';
import type { ResultRows } from '../../api/types';
import { grouped } from '../../app/format';
import { useZone } from '../../app/preferences';
import { formatEventTime } from '../../time/zone';
import { columnsOf, groupOf } from '../runtime/columns';
import type { SearchState } from '../runtime/manager';
import styles from './Trellis.module.css';
import {
  type Trellis as Split,
  type TrellisLook,
  type TrellisPanel,
  type TrellisSize,
  trellisLook,
  trellisOf,
} from './trellis';
import { useInView } from './useInView';

/** The whole of a result, or a panel of its trellis. */
export interface Part {
  results: ResultRows;
  /** Pixels. */
  height: number;
  label: string;
  /** Of a panel: what it is of, and the whole result. */
  panel: (TrellisPanel & { name: string; all: ResultRows }) | null;
}

/** How an element is split by its options; null where it is one. */
export function useSplit(
  { rows, ran }: Pick<SearchState, 'rows' | 'ran'>,
  options: ReadonlyMap<string, string>,
): (Split & TrellisLook) | null {
  const search = ran?.search ?? '';
  return useMemo(() => {
    const look = rows && trellisLook(options);
    const isGrouped = groupOf(columnsOf(search).report).length > 0;
    return look ? { ...trellisOf(rows, look.splitBy, isGrouped), ...look } : null;
  }, [rows, options, search]);
}

interface PartsProps {
  rows: ResultRows;
  split: (Split & TrellisLook) | null;
  /** Pixels of the whole, and of the panels of a trellis. */
  height: number;
  heights: Record<TrellisSize, number>;
  label: string;
  /** Names and colours of the series, for one legend of all panels; none where a panel is a series. */
  series?: [string, string][];
  children: (part: Part) => ReactNode;
}

export function Parts(props: PartsProps) {
  const { rows, split, height, heights, label, series = [], children } = props;
  const [zone] = useZone();
  if (!split) return children({ results: rows, height, label, panel: null });
  const { panels, total, name, size, isTime } = split;
  // Clicks give the time as it is in the results.
  const titleOf = ({ value }: TrellisPanel) =>
    isTime ? formatEventTime(value, zone).replace(/\.0+$/, '') : value;
  const draw = (panel: TrellisPanel) =>
    children({
      results: panel.results,
      height: heights[size],
      label: label ? `${label}, ${titleOf(panel)}` : titleOf(panel),
      panel: { ...panel, name, all: rows },
    });
  return (
    <div data-testid="trellis">
      {total > panels.length && (
        <p className={styles.note}>
          The first {panels.length} of {grouped(total)} {name ? `values of ${name}` : 'series'}.
        </p>
      )}
      {series.length > 0 && <Legend series={series} />}
      <ul className={styles.panels} data-size={size} aria-label={name ? `By ${name}` : 'By series'}>
        {panels.map((panel) => (
          <Panel key={panel.value} panel={panel} title={titleOf(panel)}>
            {draw}
          </Panel>
        ))}
      </ul>
    </div>
  );
}

interface PanelProps {
  panel: TrellisPanel;
  title: string;
  children: (panel: TrellisPanel) => ReactNode;
}

function Panel({ panel, title, children }: PanelProps) {
  const [box, isNear] = useInView<HTMLLIElement>();
  return (
    <li ref={box} className={styles.panel} data-testid="trellis-panel">
      <h4 title={title}>{title}</h4>
      {isNear ? children(panel) : null}
    </li>
  );
}

function Legend({ series }: { series: [string, string][] }) {
  return (
    <ul className={styles.legend} aria-label="Series">
      {series.slice(0, 20).map(([name, color]) => (
        <li key={name}>
          <span style={{ background: color }} />
          {name}
        </li>
      ))}
    </ul>
  );
}

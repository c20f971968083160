/** The panels of a trellis side by side, each drawn when it comes near what is seen. */

import type { ReactNode } from 'react';
import { grouped } from '../../app/format';
import styles from './Trellis.module.css';
import type { Trellis as Split, TrellisPanel, TrellisSize } from './trellis';
import { useInView } from './useInView';

interface TrellisProps {
  trellis: Split;
  size: TrellisSize;
  /** Names and colours of the series, for one legend of all panels; none where a panel is a series. */
  series?: [string, string][];
  children: (panel: TrellisPanel) => ReactNode;
}

export function Trellis({ trellis, size, series = [], children }: TrellisProps) {
  const { panels, total, name } = trellis;
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
          <Panel key={panel.value} panel={panel}>
            {children}
          </Panel>
        ))}
      </ul>
    </div>
  );
}

interface PanelProps {
  panel: TrellisPanel;
  children: (panel: TrellisPanel) => ReactNode;
}

function Panel({ panel, children }: PanelProps) {
  const [box, isNear] = useInView<HTMLLIElement>();
  return (
    <li ref={box} className={styles.panel} data-testid="trellis-panel">
      <h4 title={panel.value}>{panel.value}</h4>
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

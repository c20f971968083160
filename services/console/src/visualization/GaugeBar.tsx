/** The straight gauges: a scale with coloured ranges, and how far the value reaches. */

import { grouped } from '../app/format';
import styles from './Plot.module.css';
import type { PlotData, PlotLook } from './plot';
import { gaugeRanges, gaugeValue } from './plotOptions';

export function GaugeBar({ data, look }: { data: PlotData; look: PlotLook }) {
  const { bounds, colors } = gaugeRanges(data, look);
  const [least, most] = [bounds[0] ?? 0, bounds.at(-1) ?? 100];
  const value = gaugeValue(data);
  const share = (of: number) =>
    Math.min(100, Math.max(0, (100 * (of - least)) / (most - least || 1)));
  const at = bounds.findIndex((bound, index) => index > 0 && (value ?? least) <= bound);
  const color = colors[(at === -1 ? colors.length : at) - 1] ?? colors.at(-1);
  const isFiller = look.kind === 'fillerGauge';
  return (
    <div className={styles.gauge}>
      <div className={styles.gaugeValue}>{value === null ? '–' : grouped(value)}</div>
      <div className={styles.gaugeTrack}>
        {isFiller ? (
          <div style={{ width: `${share(value ?? least)}%`, background: color }} />
        ) : (
          bounds.slice(1).map((bound, index) => (
            <div
              key={bound}
              style={{
                width: `${share(bound) - share(bounds[index] ?? least)}%`,
                background: colors[index],
              }}
            />
          ))
        )}
        {!isFiller && (
          <span className={styles.gaugeMark} style={{ left: `${share(value ?? least)}%` }} />
        )}
      </div>
      <div className={styles.gaugeScale}>
        {bounds.map((bound) => (
          <span key={bound} style={{ left: `${share(bound)}%` }}>
            {grouped(bound)}
          </span>
        ))}
      </div>
    </div>
  );
}

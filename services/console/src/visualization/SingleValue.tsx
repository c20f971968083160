import { grouped } from '../app/format';
import styles from './ChartView.module.css';
import type { ChartModel } from './chartModel';

interface SingleValueProps {
  model: ChartModel;
}

/** One number, large: the last of a time series, else the first row's. */
export function SingleValue({ model }: SingleValueProps) {
  const series = model.series[0];
  const values = series?.values ?? [];
  const value = model.isTime ? values.at(-1) : values[0];
  return (
    <div className={styles.single} data-testid="single-value">
      <div className={styles.value}>
        {value === null || value === undefined ? '–' : grouped(value)}
      </div>
      <div className={styles.label}>{series?.name}</div>
    </div>
  );
}

/** Where a result will stand. It appears after 200 ms, so that quick answers do not flicker. */

import styles from './States.module.css';

const WIDTHS = ['42%', '88%', '71%', '93%', '64%', '80%', '55%', '76%'];

export function Skeleton({ lines = 5, label = 'Loading' }: { lines?: number; label?: string }) {
  return (
    <div className={styles.skeleton} role="status" aria-label={label}>
      {WIDTHS.slice(0, lines).map((width) => (
        <span key={width} style={{ width }} />
      ))}
    </div>
  );
}

/** An element that this version cannot show, with what it can show instead. */

import type { ReactNode } from 'react';
import styles from './States.module.css';

interface NotSupportedProps {
  /** What is not supported, such as `<viz type="x">`. */
  what: string;
  /** A substitute, such as the table of the results. */
  children?: ReactNode;
}

export function NotSupported({ what, children }: NotSupportedProps) {
  return (
    <section className={styles.state} role="status" data-testid="not-supported">
      <h2>Not supported</h2>
      <p>
        <code>{what}</code> is not supported{children ? '; its results are shown as a table.' : '.'}
      </p>
      {children}
    </section>
  );
}

/** Nothing there: what was asked for, and what to do next. */

import type { ReactNode } from 'react';
import styles from './States.module.css';

interface EmptyProps {
  title: string;
  /** Next steps, one each. */
  children?: ReactNode;
  testId?: string;
}

export function Empty({ title, children, testId = 'nothing' }: EmptyProps) {
  return (
    <section className={styles.state} role="status" data-testid={testId}>
      <h2>{title}</h2>
      {children}
    </section>
  );
}

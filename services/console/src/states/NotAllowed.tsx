/** A page or panel for which the user lacks a capability. */

import { IconLock } from '@tabler/icons-react';
import styles from './States.module.css';

export function NotAllowed({ capability }: { capability: string }) {
  return (
    <section className={styles.state} role="alert" data-testid="not-allowed">
      <h2>
        <IconLock size={16} aria-hidden="true" />
        Not allowed
      </h2>
      <p>
        Ask an administrator for a role with the capability <code>{capability}</code>.
      </p>
    </section>
  );
}

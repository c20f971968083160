/** A page or panel for which the user lacks a capability, or indexes. */

import { IconLock } from '@tabler/icons-react';
import styles from './States.module.css';

type NotAllowedProps = { capability: string } | { indexes: string[] };

export function NotAllowed(props: NotAllowedProps) {
  return (
    <section className={styles.state} role="alert" data-testid="not-allowed">
      <h2>
        <IconLock size={16} aria-hidden="true" />
        Not allowed
      </h2>
      {'capability' in props ? (
        <p>
          Ask an administrator for a role with the capability <code>{props.capability}</code>.
        </p>
      ) : (
        <p>
          Ask an administrator for a role that may search <code>{props.indexes.join(', ')}</code>{' '}
          (srchIndexesAllowed).
        </p>
      )}
    </section>
  );
}

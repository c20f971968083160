/** A search that waits for its turn. */

import styles from './States.module.css';

/** `reason`: what the server says it waits for, such as a limit by its name. */
export function Queued({ reason }: { reason?: string }) {
  return (
    <section className={styles.state} role="status" data-testid="queued">
      <h2>Queued</h2>
      <p>
        {reason ||
          'Other searches run first: the server runs a limited number at a time. Stop one on the Jobs page to start sooner.'}
      </p>
    </section>
  );
}

/** A result that needs something typed or chosen first. */

import styles from './States.module.css';

interface WaitingProps {
  /** The inputs without a value, by their labels. */
  inputs: string[];
  /** Moves the focus to the first of them. */
  onFocus?: () => void;
}

export function Waiting({ inputs, onFocus }: WaitingProps) {
  return (
    <section className={styles.state} role="status" data-testid="waiting">
      <h2>Waiting for input</h2>
      <p>Choose a value for {inputs.join(', ')}.</p>
      {onFocus && (
        <div className={styles.actions}>
          <button type="button" onClick={onFocus}>
            Go to {inputs[0]}
          </button>
        </div>
      )}
    </section>
  );
}

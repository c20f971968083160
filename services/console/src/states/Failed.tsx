/** Something that did not work: what, what the server said, what helps. */

import { Button } from '@mantine/core';
import { IconCircleX, IconLock } from '@tabler/icons-react';
import type { ApiError } from '../api/client';
import { explainError } from '../api/explain';
import styles from './States.module.css';

interface FailedProps {
  error: ApiError;
  onRetry?: () => void;
}

export function Failed({ error, onRetry }: FailedProps) {
  const { title, detail, advice, retry } = explainError(error);
  const Icon = error.kind === 'forbidden' ? IconLock : IconCircleX;
  return (
    <section className={styles.state} role="alert" data-testid="failed" data-kind={error.kind}>
      <h2>
        <Icon size={16} color="var(--error)" aria-hidden="true" />
        {title}
      </h2>
      {detail !== '' && (detail.includes('\n') ? <pre>{detail}</pre> : <p>{detail}</p>)}
      {advice !== '' && <p>{advice}</p>}
      {retry && onRetry && (
        <div className={styles.actions}>
          <Button size="xs" variant="default" onClick={onRetry}>
            Try again
          </Button>
        </div>
      )}
    </section>
  );
}

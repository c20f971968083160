/** A line above a result that is shown but is not the whole and latest one. */

import { IconAlertTriangle, IconInfoCircle } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { useZone } from '../app/preferences';
import { clockTime } from '../time/zone';
import styles from './States.module.css';

function Stripe({ kind, children, testId }: StripeProps) {
  const Icon = kind === 'warning' ? IconAlertTriangle : IconInfoCircle;
  return (
    <div className={styles.stripe} data-kind={kind} role="status" data-testid={testId}>
      <Icon size={14} aria-hidden="true" />
      <span>{children}</span>
    </div>
  );
}

interface StripeProps {
  kind: 'info' | 'warning';
  children: ReactNode;
  testId: string;
}

/** The search is still running: these are the rows so far. */
export function PreviewStripe({ children }: { children: ReactNode }) {
  return (
    <Stripe kind="info" testId="preview">
      {children}
    </Stripe>
  );
}

/** The search ended without all of it. `children` name what is missing. */
export function PartialStripe({ children }: { children: ReactNode }) {
  return (
    <Stripe kind="warning" testId="partial">
      {children}
    </Stripe>
  );
}

interface StaleProps {
  /** When the result that is shown was made, in milliseconds since the epoch. */
  since: number;
  reason: string;
  onRetry: () => void;
}

/** The refresh failed: the last result is shown. */
export function StaleStripe({ since, reason, onRetry }: StaleProps) {
  const [zone] = useZone();
  return (
    <Stripe kind="warning" testId="stale">
      Not refreshed since {clockTime(since, zone)}: {reason}{' '}
      <button type="button" onClick={onRetry}>
        Try again
      </button>
    </Stripe>
  );
}

/** One word on whether the result is all of it; opens what is missing and what the server says. */

import { Popover } from '@mantine/core';
import { IconAlertTriangle, IconCircleCheck, IconCircleX, IconLoader2 } from '@tabler/icons-react';
import styles from './CompletenessBadge.module.css';
import type { Judgement } from './completeness';

const ICONS = {
  complete: IconCircleCheck,
  preview: IconLoader2,
  partial: IconAlertTriangle,
  failed: IconCircleX,
};

export function CompletenessBadge({ judgement }: { judgement: Judgement }) {
  const { is, label, reasons } = judgement;
  const Icon = ICONS[is];
  return (
    <Popover position="bottom-start" width={420} withArrow trapFocus returnFocus>
      <Popover.Target>
        <button
          type="button"
          className={styles.badge}
          data-is={is}
          data-testid="completeness"
          aria-label={`Completeness: ${label}${reasons.length > 0 ? ` ${reasons.length}` : ''}`}
        >
          <Icon size={13} aria-hidden="true" />
          {label}
          {reasons.length > 0 && (
            <>
              {' '}
              <span>{reasons.length}</span>
            </>
          )}
        </button>
      </Popover.Target>
      <Popover.Dropdown className={styles.panel} tabIndex={-1}>
        {reasons.length === 0 ? (
          <p>
            {is === 'preview'
              ? 'The search is still running: these are the results so far.'
              : 'The search has read everything in its time range that the user may see.'}
          </p>
        ) : (
          <ul>
            {reasons.map((reason, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: messages have no identity of their own
              <li key={index}>{reason}</li>
            ))}
          </ul>
        )}
      </Popover.Dropdown>
    </Popover>
  );
}

import { IconAlertTriangle, IconCircleX, IconInfoCircle } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import { sentence } from './format';
import styles from './Notice.module.css';

export type NoticeKind = 'error' | 'warning' | 'info';

const ICONS = { error: IconCircleX, warning: IconAlertTriangle, info: IconInfoCircle };

interface NoticeProps {
  kind: NoticeKind;
  /** Monospace with its line breaks, for diagnostics that point into the search. */
  code?: boolean;
  action?: ReactNode;
  children: ReactNode;
}

export function Notice({ kind, code = false, action, children }: NoticeProps) {
  const Icon = ICONS[kind];
  return (
    <div className={styles.notice} data-kind={kind} role={kind === 'error' ? 'alert' : 'status'}>
      <Icon size={15} className={styles.icon} aria-hidden="true" />
      <div className={code ? styles.code : styles.text} tabIndex={code ? 0 : undefined}>
        {typeof children === 'string' && !code ? sentence(children) : children}
      </div>
      {action}
    </div>
  );
}

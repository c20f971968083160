/** The box of a single value: a button where a click leads somewhere. */

import type { CSSProperties, ReactNode } from 'react';
import styles from './SingleElement.module.css';

interface ValueBoxProps {
  style: CSSProperties;
  /** What the button is of: its name is this and its text. */
  label?: string;
  testId: string;
  onClick: ((newTab: boolean) => void) | undefined;
  children: ReactNode;
}

export function ValueBox({ style, label, testId, onClick, children }: ValueBoxProps) {
  const common = { className: styles.single, style, 'data-testid': testId };
  if (!onClick) return <div {...common}>{children}</div>;
  return (
    <button type="button" {...common} onClick={(event) => onClick(event.ctrlKey || event.metaKey)}>
      {label && <span className="visually-hidden">{label}</span>}
      {children}
    </button>
  );
}

/** A JSON event as a tree that folds. Values are text nodes; deep parts start folded. */

import { useState } from 'react';
import { Visible, VisiblePieces } from '../app/Visible';
import type { Highlighter } from './highlight';
import styles from './JsonTree.module.css';

/** The parsed event, or undefined when the text is not one JSON object or array. */
export function parseJsonEvent(raw: string): unknown {
  try {
    const value: unknown = JSON.parse(raw);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

interface JsonTreeProps {
  value: unknown;
  highlight: Highlighter;
}

const OPEN_DEPTH = 2;

export function JsonTree({ value, highlight }: JsonTreeProps) {
  return (
    <div className={styles.tree} data-testid="json-tree">
      <Node value={value} depth={0} highlight={highlight} />
    </div>
  );
}

interface NodeProps extends JsonTreeProps {
  name?: string;
  depth: number;
}

function Node({ name, value, depth, highlight }: NodeProps) {
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH);
  const label = name !== undefined && (
    <span className={styles.name}>
      <Visible text={name} />:{' '}
    </span>
  );
  if (typeof value !== 'object' || value === null) {
    return (
      <div className={styles.leaf}>
        {label}
        <span data-type={value === null ? 'null' : typeof value}>
          <VisiblePieces pieces={highlight(JSON.stringify(value))} />
        </span>
      </div>
    );
  }
  const isList = Array.isArray(value);
  const entries = Object.entries(value);
  const [open, close] = isList ? '[]' : '{}';
  return (
    <div>
      <button
        type="button"
        className={styles.fold}
        aria-expanded={isOpen}
        onClick={() => setOpen((before) => !before)}
      >
        {label}
        {open}
        {!isOpen && <span className={styles.folded}> {entries.length} … </span>}
        {!isOpen && close}
      </button>
      {isOpen && (
        <div className={styles.children}>
          {entries.map(([key, child]) => (
            <Node key={key} name={key} value={child} depth={depth + 1} highlight={highlight} />
          ))}
        </div>
      )}
      {isOpen && <span>{close}</span>}
    </div>
  );
}

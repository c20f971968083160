/** The table of a list: its head by the names of its columns; it scrolls sideways where it is wider than the page. */

import type { ReactNode } from 'react';
import styles from './List.module.css';

/**
 * A name; `numeric`: over numbers; `hidden`: for who hears the page, where `Actions` as the last column
 * stays in view; false: the column is not there.
 */
export type ListColumn = string | { numeric: string } | { hidden: string } | false;

interface ListTableProps {
  columns: readonly ListColumn[];
  /** The rows. */
  children: ReactNode;
  /** The name of what scrolls, where nothing in the rows is reached by keys. */
  label?: string;
  caption?: ReactNode;
  className?: string;
  testId?: string;
}

export function ListTable(props: ListTableProps) {
  const { columns, children, label, caption, className, testId } = props;
  const last = columns.at(-1);
  const hasActions = typeof last === 'object' && 'hidden' in last && last.hidden === 'Actions';
  const table = (
    <table
      className={`${styles.table} ${className ?? ''}`}
      data-testid={testId}
      data-actions={hasActions || undefined}
    >
      {caption && <caption className={styles.caption}>{caption}</caption>}
      <thead>
        <tr>
          {columns.map(
            (column, at) => column !== false && <Head key={keyOf(columns, at)} column={column} />,
          )}
        </tr>
      </thead>
      <tbody>{children}</tbody>
    </table>
  );
  return label === undefined ? (
    <div className={styles.scroll}>{table}</div>
  ) : (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways is reached by keys
    <section className={styles.scroll} tabIndex={0} aria-label={label}>
      {table}
    </section>
  );
}

const keyOf = (columns: readonly ListColumn[], at: number): string =>
  `${at} ${JSON.stringify(columns[at])}`;

function Head({ column }: { column: Exclude<ListColumn, false> }) {
  if (typeof column === 'string') return <th scope="col">{column}</th>;
  if ('numeric' in column) {
    return (
      <th scope="col" data-numeric="true">
        {column.numeric}
      </th>
    );
  }
  return (
    <th scope="col">
      <span className="visually-hidden">{column.hidden}</span>
    </th>
  );
}

/** The rows of a report. Only those in sight are drawn; the head stays, columns keep their widths. */

import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useMemo, useRef, useState } from 'react';
import { plural } from '../app/format';
import { useZone } from '../app/preferences';
import { formatEventTime } from '../time/zone';
import styles from './StatisticsTable.module.css';
import {
  type Cell,
  cellText,
  columnWidths,
  isNumericColumn,
  nextSorting,
  type Row,
  type Sorting,
  sortedRows,
  type Table,
} from './table';

interface StatisticsTableProps {
  table: Table;
}

const ROW_HEIGHT = 27;
/** Pixels of a cell beside its text. */
const PADDING = 28;

export function StatisticsTable({ table }: StatisticsTableProps) {
  const [zone] = useZone();
  const [sorting, setSorting] = useState<Sorting | null>(null);
  const scroll = useRef<HTMLElement>(null);
  const numeric = useMemo(
    () => table.columns.map((_, column) => isNumericColumn(table.rows, column)),
    [table],
  );
  const widths = useMemo(
    () =>
      columnWidths(table, (cell, column) =>
        table.columns[column] === '_time' ? timeText(cellText(cell), zone) : cellText(cell),
      ),
    [table, zone],
  );
  const total = widths.reduce((sum, width) => sum + width, 0);
  const rows = useMemo(() => sortedRows(table.rows, sorting), [table, sorting]);
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
  });
  const items = virtual.getVirtualItems();
  const before = items[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);

  return (
    <>
      <div className={styles.tools}>
        <span>{plural(rows.length, 'row')}</span>
        {table.columns.includes('_time') && <span>Times in {zone}</span>}
      </div>
      <section
        className={styles.scroll}
        ref={scroll}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll it
        tabIndex={0}
        aria-label="Rows of the report"
      >
        <table
          className={styles.table}
          style={{ width: `calc(${total}ch + ${table.columns.length * PADDING}px)` }}
          aria-rowcount={rows.length + 1}
          data-testid="statistics-table"
        >
          <colgroup>
            {table.columns.map((name, column) => (
              <col key={name} style={{ width: `calc(${widths[column]}ch + ${PADDING}px)` }} />
            ))}
          </colgroup>
          <thead>
            <tr aria-rowindex={1}>
              {table.columns.map((name, column) => (
                <ColumnHeader
                  key={name}
                  name={name}
                  isNumeric={numeric[column] ?? false}
                  sorting={sorting?.column === column ? sorting : null}
                  onSort={() => {
                    setSorting((now) => nextSorting(now, column, numeric[column] ?? false));
                    scroll.current?.scrollTo(scroll.current.scrollLeft, 0);
                  }}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            <Gap height={before} columns={table.columns.length} />
            {items.map(({ index }) => (
              <TableRow
                key={index}
                index={index}
                row={rows[index] ?? NO_CELLS}
                columns={table.columns}
                numeric={numeric}
                zone={zone}
                measure={virtual.measureElement}
              />
            ))}
            <Gap height={after} columns={table.columns.length} />
          </tbody>
        </table>
      </section>
    </>
  );
}

const NO_CELLS: Row = [];

interface TableRowProps {
  index: number;
  row: Row;
  columns: string[];
  numeric: boolean[];
  zone: string;
  measure: (element: HTMLTableRowElement | null) => void;
}

/** Drawn once: while the table scrolls, only the rows that come into sight are new. */
const TableRow = memo(function TableRow(props: TableRowProps) {
  const { index, row, columns, numeric, zone, measure } = props;
  return (
    <tr data-index={index} ref={measure} aria-rowindex={index + 2}>
      {columns.map((name, column) => (
        <td key={name} data-numeric={numeric[column]} data-time={name === '_time'}>
          <CellContent cell={row[column] ?? null} isTime={name === '_time'} zone={zone} />
        </td>
      ))}
    </tr>
  );
});

/** The rows that are not drawn. */
function Gap({ height, columns }: { height: number; columns: number }) {
  if (height <= 0) return null;
  return (
    <tr className={styles.gap}>
      <td colSpan={columns} style={{ height }} />
    </tr>
  );
}

interface ColumnHeaderProps {
  name: string;
  isNumeric: boolean;
  sorting: Sorting | null;
  onSort: () => void;
}

function ColumnHeader({ name, isNumeric, sorting, onSort }: ColumnHeaderProps) {
  const order = sorting ? (sorting.descending ? 'descending' : 'ascending') : 'none';
  return (
    <th scope="col" aria-sort={order} data-numeric={isNumeric}>
      <button type="button" onClick={onSort} title={name}>
        <span>{name}</span>
        {order === 'descending' && <IconArrowDown size={12} aria-hidden="true" />}
        {order === 'ascending' && <IconArrowUp size={12} aria-hidden="true" />}
      </button>
    </th>
  );
}

interface CellContentProps {
  cell: Cell;
  isTime: boolean;
  zone: string;
}

const timeText = (text: string, zone: string) =>
  text === '' ? '' : formatEventTime(text, zone).replace(/\.0+$/, '');

function CellContent({ cell, isTime, zone }: CellContentProps) {
  if (cell === null) return null;
  if (Array.isArray(cell)) {
    return (
      <ul className={styles.multivalue}>
        {cell.map((value, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a value may occur more than once
          <li key={index}>{value}</li>
        ))}
      </ul>
    );
  }
  return isTime ? timeText(cell, zone) : cell;
}

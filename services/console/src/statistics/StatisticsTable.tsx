/** The rows of a report. Only what is in sight is drawn; the head stays, columns keep their widths. */

import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import { useVirtualizer } from '@tanstack/react-virtual';
import { memo, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { plural } from '../app/format';
import { useZone } from '../app/preferences';
import { formatEventTime } from '../time/zone';
import styles from './StatisticsTable.module.css';
import {
  type Cell,
  cellText,
  columnWidths,
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
/** Columns beyond which only those in sight are drawn. */
const ALL_COLUMNS = 30;
const COLUMN_STEP = 8;
/** Characters that are measured. */
const RULER = 100;

export function StatisticsTable({ table }: StatisticsTableProps) {
  const [zone] = useZone();
  const [sorting, setSorting] = useState<Sorting | null>(null);
  const scroll = useRef<HTMLElement>(null);
  const ruler = useRef<HTMLDivElement>(null);
  /** Pixels of a character. */
  const [character, setCharacter] = useState(8);
  useLayoutEffect(() => {
    const width = ruler.current?.offsetWidth ?? 0;
    if (width > 0) setCharacter(width / RULER);
  }, []);
  const { numeric } = table;
  const widths = useMemo(
    () =>
      columnWidths(table, (cell, column) =>
        table.columns[column] === '_time' ? timeText(cellText(cell), zone) : cellText(cell),
      ),
    [table, zone],
  );
  const rows = useMemo(
    () => sortedRows(table.rows, sorting, sorting && table.cells(sorting.column)),
    [table, sorting],
  );
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 12,
  });
  const items = virtual.getVirtualItems();
  const before = items[0]?.start ?? 0;
  const after = virtual.getTotalSize() - (items.at(-1)?.end ?? 0);
  const isWide = table.columns.length > ALL_COLUMNS;
  const across = useVirtualizer({
    horizontal: true,
    count: table.columns.length,
    getScrollElement: () => scroll.current,
    estimateSize: (column) => (widths[column] ?? 0) * character + PADDING,
    overscan: 3,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: other widths are measured anew
  useEffect(() => across.measure(), [widths, character, across]);
  const seen = across.getVirtualItems();
  // In steps, so that not every move draws all rows anew.
  const step = (column: number) => Math.min(table.columns.length, column * COLUMN_STEP);
  const from = isWide ? step(Math.floor((seen[0]?.index ?? 0) / COLUMN_STEP)) : 0;
  const to = isWide
    ? step(Math.ceil(((seen.at(-1)?.index ?? 0) + 1) / COLUMN_STEP))
    : table.columns.length;
  const whole = across.getTotalSize();
  const left = across.measurementsCache[from]?.start ?? 0;
  const right = whole - (across.measurementsCache[to - 1]?.end ?? whole);
  const shown = useMemo(
    () => Array.from({ length: Math.max(0, to - from) }, (_, at) => from + at),
    [from, to],
  );
  const span = shown.length + 2;

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
        <div ref={ruler} className={styles.ruler} style={{ width: `${RULER}ch` }} />
        <table
          className={styles.table}
          style={{ width: whole }}
          aria-rowcount={rows.length + 1}
          aria-colcount={table.columns.length}
          data-testid="statistics-table"
        >
          <colgroup>
            {isWide && <col style={{ width: left }} />}
            {shown.map((column) => (
              <col
                key={table.columns[column]}
                style={{ width: (widths[column] ?? 0) * character + PADDING }}
              />
            ))}
            {isWide && <col style={{ width: right }} />}
          </colgroup>
          <thead>
            <tr aria-rowindex={1}>
              {isWide && <td className={styles.side} />}
              {shown.map((column) => (
                <ColumnHeader
                  key={table.columns[column]}
                  name={table.columns[column] ?? ''}
                  at={column}
                  isNumeric={numeric[column] ?? false}
                  sorting={sorting?.column === column ? sorting : null}
                  onSort={() => {
                    setSorting((now) => nextSorting(now, column, numeric[column] ?? false));
                    scroll.current?.scrollTo(scroll.current.scrollLeft, 0);
                  }}
                />
              ))}
              {isWide && <td className={styles.side} />}
            </tr>
          </thead>
          <tbody>
            <Gap height={before} columns={span} />
            {items.map(({ index }) => (
              <TableRow
                key={index}
                index={index}
                row={rows[index] ?? NO_CELLS}
                shown={shown}
                isWide={isWide}
                table={table}
                zone={zone}
                measure={virtual.measureElement}
              />
            ))}
            <Gap height={after} columns={span} />
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
  /** Columns that are drawn. */
  shown: readonly number[];
  /** Whether there are others beside them. */
  isWide: boolean;
  table: Table;
  zone: string;
  measure: (element: HTMLTableRowElement | null) => void;
}

/** Drawn once: while the table scrolls, only the rows that come into sight are new. */
const TableRow = memo(function TableRow(props: TableRowProps) {
  const { index, row, shown, isWide, table, zone, measure } = props;
  return (
    <tr data-index={index} ref={measure} aria-rowindex={index + 2}>
      {isWide && <td className={styles.side} />}
      {shown.map((column) => {
        const isTime = table.columns[column] === '_time';
        return (
          <td
            key={column}
            data-numeric={table.numeric[column]}
            data-time={isTime}
            aria-colindex={column + 1}
          >
            <CellContent cell={row[column] ?? null} isTime={isTime} zone={zone} />
          </td>
        );
      })}
      {isWide && <td className={styles.side} />}
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
  at: number;
  isNumeric: boolean;
  sorting: Sorting | null;
  onSort: () => void;
}

function ColumnHeader({ name, at, isNumeric, sorting, onSort }: ColumnHeaderProps) {
  const order = sorting ? (sorting.descending ? 'descending' : 'ascending') : 'none';
  return (
    <th scope="col" aria-sort={order} aria-colindex={at + 1} data-numeric={isNumeric}>
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

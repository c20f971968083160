/** The rows of a report. Only what is in sight is drawn; the head stays, columns keep their widths. */

import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import { useVirtualizer } from '@tanstack/react-virtual';
import {
  type FocusEvent,
  type KeyboardEvent,
  lazy,
  type MouseEvent,
  memo,
  Suspense,
  startTransition,
  useCallback,
  useDeferredValue,
  useEffect,
  useId,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
} from 'react';
import { plural } from '../app/format';
import { hasHidden } from '../app/hiddenCharacters';
import { useZone } from '../app/preferences';
import { Visible } from '../app/Visible';
import { formatEventTime } from '../time/zone';
import { type ActiveCell, type Bounds, cellAfter, cellWithin } from './activeCell';
import type { Spot } from './CellMenu';
import type { Behind } from './drilldown';
import styles from './StatisticsTable.module.css';
import {
  type Cell,
  cellText,
  layoutOf,
  nextSorting,
  type Row,
  type Sorting,
  sortedRows,
  type Table,
} from './table';

interface StatisticsTableProps {
  table: Table;
  /** The search that made the table. */
  query: string;
  /** Opens the events behind a cell. */
  onEvents: (behind: Behind) => void;
}

/** A cell whose menu is open. */
interface Picked {
  spot: Spot;
  row: Row;
  column: number;
}

const CellMenu = lazy(() => import('./CellMenu'));

const ROW_HEIGHT = 26;
/** Pixels of a cell beside its text. */
const PADDING = 28;
/** Pixels of the head, which covers the first ones of the part that scrolls. */
const HEAD_HEIGHT = 30;
/** Columns beyond which only those in sight are drawn. */
const ALL_COLUMNS = 30;
const COLUMN_STEP = 4;
/** Characters that are measured. */
const RULER = 100;

export function StatisticsTable({ table, query, onEvents }: StatisticsTableProps) {
  const [zone] = useZone();
  const [sorting, setSorting] = useState<Sorting | null>(null);
  const [picked, setPicked] = useState<Picked | null>(null);
  const [active, setActive] = useState<ActiveCell | null>(null);
  const activeId = useId();
  const scroll = useRef<HTMLDivElement>(null);
  const grid = useRef<HTMLTableElement>(null);
  const ruler = useRef<HTMLDivElement>(null);
  /** Pixels of a character. */
  const [character, setCharacter] = useState(8);
  useLayoutEffect(() => {
    const width = ruler.current?.offsetWidth ?? 0;
    if (width > 0) setCharacter(width / RULER);
  }, []);
  const { widths, isEven } = useMemo(() => layoutOf(table, timeLength(table, zone)), [table, zone]);
  const rows = useMemo(
    () => sortedRows(table.rows, sorting, sorting && table.cells(sorting.column)),
    [table, sorting],
  );
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroll.current,
    estimateSize: () => ROW_HEIGHT,
    overscan: 8,
    scrollPaddingEnd: HEAD_HEIGHT,
    useFlushSync: false,
  });
  const isWide = table.columns.length > ALL_COLUMNS;
  const across = useVirtualizer({
    horizontal: true,
    count: table.columns.length,
    getScrollElement: () => scroll.current,
    estimateSize: (column) => (widths[column] ?? 0) * character + PADDING,
    overscan: 2,
    useFlushSync: false,
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: other widths are measured anew
  useEffect(() => across.measure(), [widths, character, across]);
  const [top, end] = edges(virtual.getVirtualItems());
  const [first, last] = edges(across.getVirtualItems());
  // In steps, so that not every move draws all rows anew.
  const from = isWide ? COLUMN_STEP * Math.floor(first / COLUMN_STEP) : 0;
  const to = isWide ? COLUMN_STEP * Math.ceil(last / COLUMN_STEP) : table.columns.length;
  const seen = useMemo<Part>(
    () => ({ top, end, from, to: Math.min(to, table.columns.length) }),
    [top, end, from, to, table],
  );
  // Drawn when there is time for it: what was drawn before stays and scrolls meanwhile.
  const part = useDeferredValue(seen, NOTHING);
  const places = virtual.measurementsCache;
  const aside = across.measurementsCache;
  const cells = useMemo<CellPlace[]>(
    () =>
      widths.slice(part.from, part.to).map((width, at) => ({
        column: part.from + at,
        style: { width: width * character + PADDING },
      })),
    [widths, character, part.from, part.to],
  );
  const left = aside[part.from]?.start ?? 0;
  const sort = useCallback((column: number, isNumeric: boolean) => {
    startTransition(() => setSorting((now) => nextSorting(now, column, isNumeric)));
    scroll.current?.scrollTo(scroll.current.scrollLeft, 0);
  }, []);

  const pick = ({ target, clientX: left, clientY: top }: MouseEvent<HTMLElement>) => {
    const cell = (target as Element).closest('td');
    // Who selects a text does not click.
    if (!cell || window.getSelection()?.isCollapsed === false) return;
    const at = Number(cell.parentElement?.dataset.index);
    const row = rows[at];
    const column = Number(cell.getAttribute('aria-colindex')) - 1;
    if (!row) return;
    setActive({ row: at, column });
    setPicked({ spot: { left, top }, row, column });
  };

  const page = Math.max(1, Math.floor((scroll.current?.clientHeight ?? 0) / ROW_HEIGHT) - 2);
  const bounds: Bounds = { rows: rows.length, columns: table.columns.length, page };
  const cell = active && cellWithin(active, bounds);
  const show = (next: ActiveCell) => {
    setActive(next);
    virtual.scrollToIndex(next.row, { align: 'auto' });
    across.scrollToIndex(next.column, { align: 'auto' });
  };
  const onKey = (event: KeyboardEvent<HTMLElement>) => {
    // Those of the buttons in the head are theirs.
    if (event.target !== event.currentTarget || !cell) return;
    if (event.key === 'Enter') {
      const row = rows[cell.row];
      const place = document.getElementById(activeId)?.getBoundingClientRect();
      event.preventDefault();
      // Scrolled away since the last key.
      if (!row || !place) return show(cell);
      setPicked({ spot: { left: place.left, top: place.bottom }, row, column: cell.column });
      return;
    }
    const next = cellAfter(event, cell, bounds);
    if (!next) return;
    event.preventDefault();
    show(next);
  };
  const onFocus = ({ target, currentTarget }: FocusEvent<HTMLElement>) => {
    if (target === currentTarget && !active)
      setActive({ row: virtual.range?.startIndex ?? 0, column: 0 });
  };
  const closeMenu = () => {
    setPicked(null);
    grid.current?.focus({ preventScroll: true });
  };

  return (
    <>
      {picked && (
        <Suspense>
          <CellMenu
            spot={picked.spot}
            query={query}
            table={table}
            row={picked.row}
            column={picked.column}
            onEvents={onEvents}
            onClose={closeMenu}
          />
        </Suspense>
      )}
      <div className={styles.tools}>
        <span>{plural(rows.length, 'row')}</span>
        {table.time !== -1 && <span>Times in {zone}</span>}
      </div>
      <div className={styles.scroll} ref={scroll}>
        <div ref={ruler} className={styles.ruler} style={{ width: `${RULER}ch` }} />
        <table
          className={styles.table}
          // biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: its cells are reached by keys
          role="grid"
          ref={grid}
          // One stop of the Tab key, which stays while rows come and go.
          tabIndex={0}
          aria-activedescendant={cell && isDrawn(cell, part) ? activeId : undefined}
          aria-label="Rows of the report"
          onKeyDown={onKey}
          onFocus={onFocus}
          style={{ width: across.getTotalSize() }}
          data-even={isEven}
          aria-rowcount={rows.length + 1}
          aria-colcount={table.columns.length}
          data-testid="statistics-table"
        >
          <Head table={table} cells={cells} left={left} sorting={sorting} onSort={sort} />
          {/* biome-ignore lint/a11y/useKeyWithClickEvents: keys are those of the table */}
          <tbody style={{ height: virtual.getTotalSize() }} onClick={pick}>
            {Array.from({ length: part.end - part.top }, (_, at) => part.top + at).map((index) => (
              <TableRow
                key={index}
                index={index}
                row={rows[index] ?? NO_CELLS}
                top={places[index]?.start ?? 0}
                left={left}
                cells={cells}
                table={table}
                zone={zone}
                active={cell?.row === index ? cell.column : -1}
                activeId={activeId}
                measure={isEven ? null : virtual.measureElement}
              />
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

/** A column that is drawn. */
interface CellPlace {
  column: number;
  style: { width: number };
}

/** What is drawn of a table: rows and columns, the last ones excluded. */
interface Part {
  top: number;
  end: number;
  from: number;
  to: number;
}

const isDrawn = ({ row, column }: ActiveCell, part: Part): boolean =>
  row >= part.top && row < part.end && column >= part.from && column < part.to;

const NOTHING: Part = { top: 0, end: 0, from: 0, to: 0 };

/** The first of some items, and the one behind the last. */
function edges(items: readonly { index: number }[]): [number, number] {
  const first = items[0];
  return first ? [first.index, (items.at(-1)?.index ?? 0) + 1] : [0, 0];
}

/** Times that are looked at for the width of their column. */
const SAMPLE = 50;

/** Characters of a time as it is shown. */
function timeLength(table: Table, zone: string): number {
  if (table.time === -1) return 0;
  const times = table.cells(table.time).slice(0, SAMPLE);
  return Math.max(0, ...times.map((cell) => timeText(cellText(cell), zone).length));
}

interface HeadProps {
  table: Table;
  cells: readonly CellPlace[];
  /** Pixels in front of the first cell. */
  left: number;
  sorting: Sorting | null;
  onSort: (column: number, isNumeric: boolean) => void;
}

const Head = memo(function Head({ table, cells, left, sorting, onSort }: HeadProps) {
  return (
    <thead>
      <tr aria-rowindex={1} style={{ paddingLeft: left }}>
        {cells.map(({ column, style }) => (
          <ColumnHeader
            key={column}
            name={table.columns[column] ?? ''}
            at={column}
            style={style}
            isNumeric={table.numeric[column] ?? false}
            sorting={sorting?.column === column ? sorting : null}
            onSort={onSort}
          />
        ))}
      </tr>
    </thead>
  );
});

const NO_CELLS: Row = [];

interface TableRowProps {
  index: number;
  row: Row;
  /** Pixels above it, and in front of its first cell. */
  top: number;
  left: number;
  cells: readonly CellPlace[];
  table: Table;
  zone: string;
  /** The column of the cell that keys move; -1 if it is in another row. */
  active: number;
  activeId: string;
  /** Null where every row is as high as the others. */
  measure: ((element: HTMLTableRowElement | null) => void) | null;
}

/** Drawn once: while the table scrolls, only the rows that come into sight are new. */
const TableRow = memo(function TableRow(props: TableRowProps) {
  const { index, row, top, left, cells, table, zone, active, activeId, measure } = props;
  return (
    <tr
      data-index={index}
      ref={measure}
      aria-rowindex={index + 2}
      style={{ top, paddingLeft: left }}
    >
      {cells.map(({ column, style }) => {
        const isTime = column === table.time;
        return (
          <td
            key={column}
            id={column === active ? activeId : undefined}
            style={style}
            data-active={column === active || undefined}
            data-numeric={table.numeric[column] || undefined}
            data-time={isTime || undefined}
            aria-colindex={column + 1}
          >
            <CellContent cell={row[column] ?? null} isTime={isTime} zone={zone} />
          </td>
        );
      })}
    </tr>
  );
});

interface ColumnHeaderProps {
  name: string;
  at: number;
  style: CellPlace['style'];
  isNumeric: boolean;
  sorting: Sorting | null;
  onSort: HeadProps['onSort'];
}

function ColumnHeader({ name, at, style, isNumeric, sorting, onSort }: ColumnHeaderProps) {
  const order = sorting ? (sorting.descending ? 'descending' : 'ascending') : 'none';
  return (
    <th
      scope="col"
      style={style}
      aria-sort={order}
      aria-colindex={at + 1}
      data-numeric={isNumeric || undefined}
    >
      <button type="button" onClick={() => onSort(at, isNumeric)} title={name}>
        <span>
          <Visible text={name} />
        </span>
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
          <li key={index}>
            <Visible text={value} />
          </li>
        ))}
      </ul>
    );
  }
  if (isTime) return timeText(cell, zone);
  if (!hasHidden(cell)) return cell;
  return (
    <div className={styles.signed}>
      <Visible text={cell} />
    </div>
  );
}

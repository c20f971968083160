/** A table over the rows of a search, in pages; long pages draw only the rows in sight. */

import { useVirtualizer } from '@tanstack/react-virtual';
import { useMemo, useRef, useState } from 'react';
import type { ResultRows } from '../../api/types';
import { Pager } from '../../app/Pager';
import { useZone } from '../../app/preferences';
import { Visible } from '../../app/Visible';
import {
  type Cell,
  cellsIn,
  cellText,
  isNumericIn,
  nextSorting,
  type Row,
  type Sorting,
  sortedRows,
  timeColumnOf,
} from '../../statistics/table';
import { formatEventTime } from '../../time/zone';
import { useDashboard } from '../DashboardContext';
import { drilldownOption, showsEventsBehind } from '../model/drilldownOption';
import type { CellFormat, DashboardElement } from '../model/types';
import { flag, numberOf, pixels } from '../model/values';
import { useIsPrinted } from '../PrintContext';
import {
  type Colorer,
  colorer,
  formatsOf,
  formattedNumber,
  overlay,
  readableOn,
} from './cellFormat';
import type { ResultsProps } from './ElementView';
import { Sparkline } from './SingleElement';
import styles from './TableElement.module.css';

/** Rows of a page where the author says nothing, and the most of one. */
const ROWS = 10;
const MOST_ROWS = 1_000;
/** Rows beyond which a page is virtualized. */
const VIRTUAL = 60;
/** Characters of a cell; the rest is in its title. */
const MOST_CHARACTERS = 2_000;
/** Characters beyond which the end of a line may be out of sight. */
const LINE_CHARACTERS = 40;

interface Column {
  name: string;
  at: number;
  isNumeric: boolean;
  isTime: boolean;
  color: Colorer | null;
  number: CellFormat | null;
  sparkline: CellFormat | null;
}

const NO_ROWS: Pick<ResultRows, 'fields' | 'rows'> = { fields: [], rows: [] };

function columnsOf(
  element: DashboardElement,
  options: ReadonlyMap<string, string>,
  results: ResultRows | null,
): Column[] {
  const { fields, rows } = results ?? NO_ROWS;
  const wanted =
    element.fields.length > 0
      ? element.fields
          .map((name) => ({ name, at: fields.indexOf(name) }))
          .filter(({ at }) => at !== -1)
      : fields
          .map((name, at) => ({ name, at }))
          .filter(({ name }) => !name.startsWith('_') || name === '_time' || name === '_raw');
  const time = results ? timeColumnOf(results) : -1;
  const numeric = wanted
    .filter(({ at }) => at !== time && results && isNumericIn(results, at))
    .map(({ at }) => at);
  const mode = options.get('dataoverlaymode')?.toLowerCase() ?? 'none';
  const shared = overlay(mode, rows, numeric);
  return wanted.map(({ name, at }) => {
    const color = formatsOf(element.formats, 'color', name);
    return {
      name,
      at,
      isNumeric: numeric.includes(at),
      isTime: at === time,
      color: color ? colorer(color, rows, at) : numeric.includes(at) ? shared : null,
      number: formatsOf(element.formats, 'number', name),
      sparkline: formatsOf(element.formats, 'sparkline', name),
    };
  });
}

export function TableElement({ element, options, state, title }: ResultsProps) {
  const { run } = useDashboard();
  const [zone] = useZone();
  const [sorting, setSorting] = useState<Sorting | null>(null);
  const [page, setPage] = useState(1);
  const results = state.rows;
  const fields = results?.fields ?? [];
  const columns = useMemo(() => columnsOf(element, options, results), [element, options, results]);
  const rows = useMemo(
    () =>
      results
        ? sortedRows(results.rows, sorting, sorting && cellsIn(results, sorting.column))
        : NO_ROWS.rows,
    [results, sorting],
  );
  const size = Math.min(MOST_ROWS, numberOf(options.get('count')) || ROWS);
  const last = Math.max(1, Math.ceil(rows.length / size));
  const shownPage = Math.min(page, last);
  const first = (shownPage - 1) * size;
  const shown = rows.slice(first, first + size);
  const drilldown = drilldownOption('table', options);
  const isClickable =
    element.drilldown !== null
      ? drilldown !== 'none' ||
        element.drilldown.conditions.length + element.drilldown.always.length > 0
      : showsEventsBehind('table', options);
  const click = (row: Row, column: Column, newTab: boolean) => {
    const cells = new Map(fields.map((field, at) => [field, cellText(row[at] ?? null)]));
    const lead = columns[0] ?? column;
    run.click(
      element,
      {
        name: lead.name,
        value: cellText(row[lead.at] ?? null),
        name2: column.name,
        value2: cellText(row[column.at] ?? null),
        row: cells,
      },
      newTab,
    );
  };
  return (
    <>
      <Rows
        title={title}
        columns={columns}
        rows={shown}
        first={first}
        total={rows.length}
        hasNumbers={flag(options.get('rownumbers') ?? options.get('displayrownumbers'), false)}
        wraps={flag(options.get('wrap'), true)}
        isOfLines={flag(options.get('karst.lines'), false)}
        height={pixels(options.get('height'))}
        zone={zone}
        sorting={sorting}
        onSort={(at, isNumeric) => setSorting(nextSorting(sorting, at, isNumeric))}
        onClick={isClickable ? click : null}
        isRow={drilldown === 'row'}
        sums={flag(options.get('totalsrow'), false)}
        shares={flag(options.get('percentagesrow'), false)}
        all={rows}
      />
      {rows.length > size && (
        <div className={styles.pager}>
          <Pager page={shownPage} size={size} total={rows.length} noun="row" onPage={setPage} />
        </div>
      )}
    </>
  );
}

interface RowsProps {
  title: string;
  columns: Column[];
  rows: Row[];
  all: Row[];
  first: number;
  total: number;
  hasNumbers: boolean;
  wraps: boolean;
  /** Whether a cell is one line, whose end is left out where it is long. */
  isOfLines: boolean;
  height: number | null;
  zone: string;
  sorting: Sorting | null;
  onSort: (at: number, isNumeric: boolean) => void;
  onClick: ((row: Row, column: Column, newTab: boolean) => void) | null;
  isRow: boolean;
  sums: boolean;
  shares: boolean;
}

function Rows(props: RowsProps) {
  const { columns, rows, first, hasNumbers, wraps, height, sorting } = props;
  const scroller = useRef<HTMLDivElement>(null);
  // Paper does not scroll.
  const isPrinted = useIsPrinted();
  const isVirtual = rows.length > VIRTUAL && !isPrinted;
  const virtual = useVirtualizer({
    count: isVirtual ? rows.length : 0,
    getScrollElement: () => scroller.current,
    estimateSize: () => 27,
    overscan: 12,
  });
  const items = isVirtual
    ? virtual.getVirtualItems()
    : rows.map((_, index) => ({ index, start: 0, end: 0 }));
  const above = isVirtual ? (items[0]?.start ?? 0) : 0;
  const below = isVirtual ? virtual.getTotalSize() - (items.at(-1)?.end ?? 0) : 0;
  const span = columns.length + (hasNumbers ? 1 : 0);
  return (
    <section
      ref={scroller}
      className={styles.scroll}
      style={{ maxHeight: isPrinted ? undefined : (height ?? (isVirtual ? 520 : undefined)) }}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls has to be reached by keyboard
      tabIndex={0}
      aria-label={props.title ? `Table: ${props.title}` : 'Table of results'}
    >
      <table
        className={`${styles.table} table`}
        data-wrap={wraps}
        data-lines={props.isOfLines}
        aria-rowcount={props.total + 1}
        data-testid="dashboard-table"
      >
        <thead>
          <tr>
            {hasNumbers && (
              <th scope="col" className={styles.rowNumber}>
                <span className="visually-hidden">Row</span>#
              </th>
            )}
            {columns.map((column) => {
              const isSorted = sorting?.column === column.at;
              const order = isSorted
                ? sorting?.descending
                  ? 'descending'
                  : 'ascending'
                : undefined;
              return (
                <th key={column.name} scope="col" aria-sort={order} data-numeric={column.isNumeric}>
                  <button type="button" onClick={() => props.onSort(column.at, column.isNumeric)}>
                    {column.name}
                    {isSorted && (
                      <span aria-hidden="true">{sorting?.descending ? ' ↓' : ' ↑'}</span>
                    )}
                  </button>
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>
          {above > 0 && (
            <tr>
              <td colSpan={span} style={{ height: above, padding: 0, border: 0 }} />
            </tr>
          )}
          {items.map(({ index }) => {
            const row = rows[index] ?? [];
            return (
              <tr
                key={first + index}
                data-index={index}
                ref={isVirtual ? virtual.measureElement : undefined}
                aria-rowindex={first + index + 2}
              >
                {hasNumbers && <td className={styles.rowNumber}>{first + index + 1}</td>}
                {columns.map((column, at) => (
                  <CellView
                    key={column.name}
                    column={column}
                    row={row}
                    isFirst={at === 0}
                    table={props}
                  />
                ))}
              </tr>
            );
          })}
          {below > 0 && (
            <tr>
              <td colSpan={span} style={{ height: below, padding: 0, border: 0 }} />
            </tr>
          )}
        </tbody>
        {(props.sums || props.shares) && <Totals {...props} />}
      </table>
    </section>
  );
}

/** Splunk's form of a sparkline in a cell: `##__SPARKLINE__##,1,2,3`. */
function sparklineOf(cell: Cell): number[] | null {
  if (!Array.isArray(cell) || cell[0] !== '##__SPARKLINE__##') return null;
  return cell.slice(1).map(Number).filter(Number.isFinite);
}

/** Of a sparkline without a format, and the highest one. */
const SPARKLINE_HEIGHT = 20;
const MOST_HEIGHT = 200;

/** The colour, the height and the kind that a format says. */
export function sparklineLook(format: CellFormat | null) {
  const option = (name: string) => format?.options.get(name);
  const isOfBars = option('type')?.toLowerCase() === 'bar';
  return {
    isOfBars,
    color: option(isOfBars ? 'barcolor' : 'linecolor') ?? 'var(--accent)',
    height: Math.min(MOST_HEIGHT, pixels(option('height')) ?? SPARKLINE_HEIGHT),
  };
}

/** A cell. A click counts anywhere in it; with the keyboard, it is the click of its button, which comes here, too. */
export function CellView({
  column,
  row,
  isFirst,
  table,
}: {
  column: Column;
  row: Row;
  isFirst: boolean;
  table: Pick<RowsProps, 'onClick' | 'isRow' | 'zone' | 'isOfLines'>;
}) {
  const cell = row[column.at] ?? null;
  const spark = sparklineOf(cell);
  const color = column.color?.(cell) ?? null;
  // Not `background`: style sheets of apps look for `background-color` in the attribute.
  const style = color === null ? undefined : { backgroundColor: color, color: readableOn(color) };
  const whole = column.number
    ? formattedNumber(cell, column.number)
    : column.isTime
      ? formatEventTime(cellText(cell), table.zone).replace(/\.0+$/, '')
      : cellText(cell);
  const text = whole.length > MOST_CHARACTERS ? `${whole.slice(0, MOST_CHARACTERS)}…` : whole;
  const content = spark ? (
    <span className={styles.sparkline}>
      <Sparkline values={spark} {...sparklineLook(column.sparkline)} />
    </span>
  ) : (
    <Visible text={text} />
  );
  const isCut = whole.length > (table.isOfLines ? LINE_CHARACTERS : MOST_CHARACTERS);
  const click = table.onClick;
  // One stop of the Tab key for a row that is clicked as a whole.
  const isStop = click !== null && text !== '' && (!table.isRow || isFirst);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: with the keyboard it is the button inside, or that of the row
    <td
      data-numeric={column.isNumeric}
      data-time={column.isTime || undefined}
      style={style}
      title={isCut ? whole.slice(0, 10_000) : undefined}
      data-clickable={click !== null}
      onClick={click ? (event) => click(row, column, event.ctrlKey || event.metaKey) : undefined}
    >
      {isStop ? (
        <button type="button" className={styles.link}>
          {content}
        </button>
      ) : (
        content
      )}
    </td>
  );
}

/** Sums of the columns, and their shares of the whole. */
function Totals({ columns, all, hasNumbers, sums, shares }: RowsProps) {
  const totals = columns.map((column) =>
    column.isNumeric
      ? all.reduce((sum, row) => sum + (Number(cellText(row[column.at] ?? null)) || 0), 0)
      : null,
  );
  const whole = totals.reduce<number>((sum, total) => sum + (total ?? 0), 0);
  const text = (value: number) => value.toLocaleString('en-US', { maximumFractionDigits: 3 });
  return (
    <tfoot>
      {sums && (
        <tr>
          {hasNumbers && <td />}
          {totals.map((total, at) => (
            <td key={columns[at]?.name} data-numeric={total !== null}>
              {total === null ? (at === 0 ? 'Total' : '') : text(total)}
            </td>
          ))}
        </tr>
      )}
      {shares && (
        <tr>
          {hasNumbers && <td />}
          {totals.map((total, at) => (
            <td key={columns[at]?.name} data-numeric={total !== null}>
              {total === null || whole === 0
                ? at === 0
                  ? 'Share'
                  : ''
                : `${text((100 * total) / whole)} %`}
            </td>
          ))}
        </tr>
      )}
    </tfoot>
  );
}

import { NativeSelect } from '@mantine/core';
import { IconArrowDown, IconArrowUp } from '@tabler/icons-react';
import { useMemo, useState } from 'react';
import { Pager } from '../app/Pager';
import { useZone } from '../app/preferences';
import { formatEventTime } from '../time/zone';
import styles from './StatisticsTable.module.css';
import {
  type Cell,
  isNumericColumn,
  nextSorting,
  type Sorting,
  sortedRows,
  type Table,
} from './table';

interface StatisticsTableProps {
  table: Table;
}

const PAGE_SIZES = ['20', '50', '100', '500'];

export function StatisticsTable({ table }: StatisticsTableProps) {
  const [zone] = useZone();
  const [sorting, setSorting] = useState<Sorting | null>(null);
  const [page, setPage] = useState(1);
  const [size, setSize] = useState(50);
  const numeric = useMemo(
    () => table.columns.map((_, column) => isNumericColumn(table.rows, column)),
    [table],
  );
  const rows = useMemo(() => sortedRows(table.rows, sorting), [table, sorting]);
  const lastPage = Math.max(1, Math.ceil(rows.length / size));
  const shownPage = Math.min(page, lastPage);
  const first = (shownPage - 1) * size;

  const sortBy = (column: number) => {
    setSorting((now) => nextSorting(now, column, numeric[column] ?? false));
    setPage(1);
  };

  return (
    <>
      <div className={styles.tools}>
        <NativeSelect
          size="xs"
          aria-label="Rows on a page"
          data={PAGE_SIZES.map((value) => ({ value, label: `${value} per page` }))}
          value={String(size)}
          onChange={(event) => {
            setSize(Number(event.currentTarget.value));
            setPage(1);
          }}
        />
        {table.columns.includes('_time') && <span>Times in {zone}</span>}
        <Pager page={shownPage} size={size} total={rows.length} noun="row" onPage={setPage} />
      </div>
      <div className={styles.scroll}>
        <table className={styles.table} data-testid="statistics-table">
          <thead>
            <tr>
              {table.columns.map((name, column) => (
                <ColumnHeader
                  key={name}
                  name={name}
                  isNumeric={numeric[column] ?? false}
                  sorting={sorting?.column === column ? sorting : null}
                  onSort={() => sortBy(column)}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            {rows.slice(first, first + size).map((row, index) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: rows have no identity of their own
              <tr key={first + index}>
                {table.columns.map((name, column) => (
                  <td key={name} data-numeric={numeric[column]} data-time={name === '_time'}>
                    <CellContent cell={row[column] ?? null} isTime={name === '_time'} zone={zone} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
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
      <button type="button" onClick={onSort}>
        {name}
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
  return isTime ? formatEventTime(cell, zone).replace(/\.0+$/, '') : cell;
}

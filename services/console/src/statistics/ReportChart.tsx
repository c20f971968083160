/** The chart of a report, and the events behind a value that is clicked. Loaded when a chart is shown. */

import { useMemo } from 'react';
import { useZone } from '../app/preferences';
import { ChartView } from '../visualization/ChartView';
import { type Behind, eventsOfCell } from './drilldown';
import type { Row, Table } from './table';

interface ReportChartProps {
  table: Table;
  query: string;
  onEvents: (behind: Behind) => void;
}

export default function ReportChart({ table, query, onEvents }: ReportChartProps) {
  const [zone] = useZone();
  const hasEvents = useMemo(() => {
    const first = table.rows[0];
    const column = table.columns.length === 1 ? 0 : 1;
    return first !== undefined && eventsOfCell(query, table, first, column, zone) !== null;
  }, [query, table, zone]);
  const showCell = (row: Row, column: number) => {
    const found = eventsOfCell(query, table, row, column, zone);
    if (found) onEvents(found);
  };
  return <ChartView table={table} onCell={hasEvents ? showCell : undefined} />;
}

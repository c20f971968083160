/** A chart over the rows of a search. */

import { useEffect, useMemo } from 'react';
import { cellText } from '../../statistics/table';
import { Plot, type PlotClick } from '../../visualization/Plot';
import { plotData } from '../../visualization/plot';
import { useDashboard } from '../DashboardContext';
import { flag } from '../model/values';
import type { Click } from '../runtime/links';
import type { ResultsProps } from './ElementView';
import { plotLook } from './plotLook';

export function ChartElement({ element, options, state, height, title }: ResultsProps) {
  const { run } = useDashboard();
  const { rows } = state;
  const data = useMemo(() => (rows ? plotData(rows) : null), [rows]);
  const look = useMemo(() => plotLook(options), [options]);
  const select = useMemo(() => {
    if (!rows || !data || !element.selection) return undefined;
    return (first: number, last: number) => {
      const cells = (row: number) =>
        new Map(rows.fields.map((field, at) => [field, cellText(rows.rows[row]?.[at] ?? null)]));
      const end = data.categories[last];
      run.select(element, {
        start: String(data.categories[first] ?? ''),
        end: String(data.isTime && typeof end === 'number' ? end + data.span : (end ?? '')),
        first: cells(first),
        last: cells(last),
      });
    };
  }, [run, element, rows, data]);
  // Until something is selected, the whole is: what hangs on it is not to wait.
  useEffect(() => {
    if (data && data.categories.length > 0) select?.(0, data.categories.length - 1);
  }, [select, data]);
  if (!rows || !data) return null;
  const drilldown = options.get('charting.drilldown') ?? options.get('drilldown');
  const isClickable = element.drilldown !== null || flag(drilldown, drilldown === undefined);
  const click = ({ row, series }: PlotClick, newTab: boolean) => {
    const cells = new Map(
      rows.fields.map((field, at) => [field, cellText(rows.rows[row]?.[at] ?? null)]),
    );
    const category = data.categories[row] ?? '';
    const drawn = data.series[look.kind === 'pie' ? 0 : series];
    const found: Click = {
      name: data.category,
      value: String(category),
      name2: drawn?.name ?? '',
      value2: cells.get(drawn?.name ?? '') ?? '',
      row: cells,
    };
    if (data.isTime && typeof category === 'number') {
      found.earliest = String(category);
      found.latest = String(category + (data.span || 1));
    }
    run.click(element, found, newTab);
  };
  if (data.series.length === 0) {
    return <p>A chart needs a column of numbers; these results have none.</p>;
  }
  return (
    <Plot
      data={data}
      look={look}
      height={height}
      label={title}
      results={rows}
      onClick={isClickable ? click : undefined}
      onSelect={select}
    />
  );
}

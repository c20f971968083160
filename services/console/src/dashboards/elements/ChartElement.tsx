/** A chart over the rows of a search, or one for each panel of a trellis. */

import { useComputedColorScheme } from '@mantine/core';
import { useEffect, useMemo } from 'react';
import type { ResultRows } from '../../api/types';
import { cellText } from '../../statistics/table';
import { PALETTE_DARK, PALETTE_LIGHT } from '../../visualization/chartOptions';
import { Plot, type PlotClick } from '../../visualization/Plot';
import {
  hasNoValues,
  inOrder,
  type PlotKind,
  type PlotLook,
  plotData,
  seriesAt,
} from '../../visualization/plot';
import { useDashboard } from '../DashboardContext';
import { showsEventsBehind } from '../model/drilldownOption';
import type { DashboardElement } from '../model/types';
import type { Click } from '../runtime/links';
import type { SearchState } from '../runtime/manager';
import type { ResultsProps } from './ElementView';
import { plotLook } from './plotLook';
import { NoValues } from './SearchStates';
import { type Part, Parts, useSplit } from './Trellis';
import { commonSeries, sharedLook } from './trellis';

/** Pixels of the charts of a trellis. */
const HEIGHTS = { small: 110, medium: 150, large: 220 };

export function ChartElement({ element, options, state, height, title }: ResultsProps) {
  const { rows } = state;
  const look = useMemo(() => plotLook(options), [options]);
  const split = useSplit(state, options);
  const scheme = useComputedColorScheme('light');
  const series = useMemo(() => {
    const palette = scheme === 'dark' ? PALETTE_DARK : PALETTE_LIGHT;
    return split && look.kind !== 'pie' ? commonSeries(split.panels, look, palette) : [];
  }, [split, look, scheme]);
  const panelLook = useMemo(() => {
    if (!split) return look;
    const fieldColors = series.length > 0 ? new Map(series) : look.fieldColors;
    // A panel that is one series has its name as its title.
    const y = series.length > 0 ? look.y : { ...look.y, title: look.y.title ?? '' };
    const plain: PlotLook = { ...look, legend: 'none', fieldColors, y };
    return split.isShared ? sharedLook(plain, split.panels) : plain;
  }, [split, look, series]);
  if (!rows) return null;
  if (split?.panels.length === 0) {
    return <NoValues element={element} options={options} state={state} height={height} />;
  }
  return (
    <Parts
      rows={rows}
      split={split}
      height={height}
      heights={HEIGHTS}
      label={title}
      series={look.legend === 'none' ? [] : series}
    >
      {(part) => (
        <OneChart element={element} options={options} state={state} look={panelLook} {...part} />
      )}
    </Parts>
  );
}

/** Kinds whose series are drawn side by side, in any order. */
const HAS_AXES: ReadonlySet<PlotKind> = new Set(['line', 'area', 'column', 'bar']);

interface OneChartProps extends Part {
  element: DashboardElement;
  options: ReadonlyMap<string, string>;
  state: SearchState;
  look: PlotLook;
}

function OneChart(props: OneChartProps) {
  const { element, results, options, state, look, height, label, panel } = props;
  const { run } = useDashboard();
  const data = useMemo(() => {
    const found = plotData(results);
    return HAS_AXES.has(look.kind) ? inOrder(found, look.legendLabels) : found;
  }, [results, look]);
  const select = useMemo(() => {
    // A span that is selected in one panel would say nothing of the others.
    if (!element.selection || panel) return undefined;
    return (first: number, last: number) => {
      const cells = (row: number) => cellsOf(results, row);
      const end = data.categories[last];
      run.select(element, {
        start: String(data.categories[first] ?? ''),
        end: String(data.isTime && typeof end === 'number' ? end + data.span : (end ?? '')),
        first: cells(first),
        last: cells(last),
      });
    };
  }, [run, element, results, data, panel]);
  // Until something is selected, the whole is: what hangs on it is not to wait.
  useEffect(() => {
    if (data.categories.length > 0) select?.(0, data.categories.length - 1);
  }, [select, data]);
  const isClickable = element.drilldown !== null || showsEventsBehind('chart', options);
  const click = ({ row, series }: PlotClick, newTab: boolean) => {
    const cells = panel ? cellsOf(panel.all, panel.sources[row] ?? row) : cellsOf(results, row);
    const category = data.categories[row] ?? '';
    const drawn = seriesAt(data, look.kind, series);
    const found: Click = {
      name: data.category,
      value: String(category),
      name2: drawn?.name ?? '',
      value2: cellsOf(results, row).get(drawn?.name ?? '') ?? '',
      row: cells,
    };
    if (panel) found.trellis = { name: panel.name, value: panel.value };
    if (data.isTime && typeof category === 'number') {
      found.earliest = String(category);
      found.latest = String(category + (data.span || 1));
    }
    run.click(element, found, newTab);
  };
  if (data.series.length === 0 && hasNoValues(results)) {
    return <NoValues element={element} options={options} state={state} height={height} />;
  }
  if (data.series.length === 0) {
    return <p>A chart needs a column of numbers; these results have none.</p>;
  }
  return (
    <Plot
      data={data}
      look={look}
      height={height}
      label={label}
      results={results}
      onClick={isClickable ? click : undefined}
      onSelect={select}
    />
  );
}

const cellsOf = (results: ResultRows, row: number): Map<string, string> =>
  new Map(results.fields.map((field, at) => [field, cellText(results.rows[row]?.[at] ?? null)]));

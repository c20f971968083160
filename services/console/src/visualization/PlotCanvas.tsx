/** The drawing library behind a plot. Loaded when the first one is looked at. */

import { BarChart, GaugeChart, LineChart, PieChart, ScatterChart } from 'echarts/charts';
import {
  BrushComponent,
  GridComponent,
  LegendComponent,
  LegendScrollComponent,
  ToolboxComponent,
  TooltipComponent,
} from 'echarts/components';
import { use } from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';
import { useEffect, useRef } from 'react';
import { lookOf } from './look';
import type { PlotProps } from './Plot';
import type { PlotData } from './plot';
import { plotOptions, shifted } from './plotOptions';
import { asksForTab, useChart } from './useChart';

use([
  BarChart,
  BrushComponent,
  CanvasRenderer,
  GaugeChart,
  GridComponent,
  LegendComponent,
  LegendScrollComponent,
  LineChart,
  PieChart,
  ScatterChart,
  ToolboxComponent,
  TooltipComponent,
]);

interface PlotCanvasProps extends PlotProps {
  zone: string;
  scheme: string;
}

export default function PlotCanvas({
  data,
  look,
  height,
  onClick,
  onSelect,
  zone,
  scheme,
}: PlotCanvasProps) {
  const click = useRef(onClick);
  click.current = onClick;
  const select = useRef<(range: [number, number]) => void>(() => {});
  select.current = (range) => onSelect?.(...rowsOf(data, range, zone));
  const isSelectable = onSelect !== undefined;
  const { element, chart, width } = useChart((created) => {
    created.on('click', (event) => {
      const data = event.data as { row?: number } | undefined;
      const row = data?.row ?? event.dataIndex;
      if (row >= 0) click.current?.({ row, series: event.seriesIndex ?? -1 }, asksForTab(event));
    });
    created.on('brushEnd', (event) => {
      const { areas } = event as { areas?: { coordRange?: [number, number] }[] };
      const range = areas?.[0]?.coordRange;
      if (range) select.current(range);
    });
  });

  // biome-ignore lint/correctness/useExhaustiveDependencies: the scheme changes the colours that are read
  useEffect(() => {
    if (!element.current || width === 0) return;
    const context = { look: lookOf(element.current), zone, width, height };
    const options = plotOptions(data, look, context);
    // The brush brings the toolbox, whose buttons the page does not show.
    const brush = { xAxisIndex: 0, brushMode: 'single', transformable: false };
    const toolbox = { show: false };
    chart.current?.setOption(isSelectable ? { ...options, brush, toolbox } : options, {
      notMerge: true,
    });
    if (isSelectable) {
      chart.current?.dispatchAction({
        type: 'takeGlobalCursor',
        key: 'brush',
        brushOption: { brushType: 'lineX', brushMode: 'single' },
      });
    }
  }, [data, look, zone, scheme, width, height, isSelectable]);

  return <div ref={element} style={{ height, cursor: onClick ? 'pointer' : 'default' }} />;
}

/** The rows of a span: indexes of categories, or moments of a time axis. */
function rowsOf(data: PlotData, [from, to]: [number, number], zone: string): [number, number] {
  const last = data.categories.length - 1;
  if (!data.isTime) return [Math.max(0, Math.ceil(from)), Math.min(last, Math.floor(to))];
  const times = data.categories.map((value) => shifted(Number(value), zone));
  const first = times.findIndex((time) => time >= from);
  const end = times.findLastIndex((time) => time <= to);
  return first === -1 || end < first ? [0, last] : [first, end];
}

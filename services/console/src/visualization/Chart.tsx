/** The drawing library behind one component. Loaded only when a chart is looked at. */

import { BarChart, LineChart, PieChart } from 'echarts/charts';
import {
  AriaComponent,
  GridComponent,
  LegendComponent,
  LegendScrollComponent,
  TooltipComponent,
} from 'echarts/components';
import { type EChartsCoreOption, use } from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';
import { useEffect } from 'react';
import { useChart } from './useChart';

use([
  AriaComponent,
  BarChart,
  CanvasRenderer,
  GridComponent,
  LegendComponent,
  LegendScrollComponent,
  LineChart,
  PieChart,
  TooltipComponent,
]);

interface ChartProps {
  options: EChartsCoreOption;
  /** A CSS length. */
  height: string;
}

/** Pixels below which a legend has no room beside the chart. */
const NARROW = 480;

/** The same chart with its legend below it. */
function below(options: EChartsCoreOption): EChartsCoreOption {
  const { legend, grid } = options as { legend?: object; grid?: object };
  return {
    ...options,
    legend: { ...legend, orient: 'horizontal', right: 8, left: 8, top: 'auto', bottom: 2 },
    ...(grid ? { grid: { ...grid, right: 12, bottom: 34 } } : {}),
  };
}

export default function Chart({ options, height }: ChartProps) {
  const { element, chart, width } = useChart(() => {});
  const isNarrow = width > 0 && width < NARROW;

  useEffect(() => {
    chart.current?.setOption(isNarrow ? below(options) : options, { notMerge: true });
  }, [options, isNarrow, chart]);

  return <div ref={element} style={{ height }} data-testid="chart" />;
}

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

export default function Chart({ options, height }: ChartProps) {
  const { element, chart } = useChart(() => {});

  useEffect(() => chart.current?.setOption(options, { notMerge: true }), [options, chart]);

  return <div ref={element} style={{ height }} data-testid="chart" />;
}

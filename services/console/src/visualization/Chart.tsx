/** The drawing library behind one component. Loaded only when a chart is looked at. */

import { BarChart, LineChart, PieChart } from 'echarts/charts';
import {
  AriaComponent,
  GridComponent,
  LegendComponent,
  LegendScrollComponent,
  TooltipComponent,
} from 'echarts/components';
import { type EChartsCoreOption, type EChartsType, init, use } from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';
import { useEffect, useRef } from 'react';

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
  const element = useRef<HTMLDivElement>(null);
  const chart = useRef<EChartsType | null>(null);

  useEffect(() => {
    if (!element.current) return;
    const created = init(element.current);
    chart.current = created;
    const observer = new ResizeObserver(() => created.resize());
    observer.observe(element.current);
    return () => {
      observer.disconnect();
      created.dispose();
      chart.current = null;
    };
  }, []);

  useEffect(() => chart.current?.setOption(options, { notMerge: true }), [options]);

  return <div ref={element} style={{ height }} data-testid="chart" />;
}

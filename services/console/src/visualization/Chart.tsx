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
import { useEffect, useRef } from 'react';
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
  /** Hears of the category and the series that are clicked. */
  onClick?: ((category: number, series: number) => void) | undefined;
}

/** Pixels below which a legend has no room beside the chart. */
const NARROW = 480;

/** The same chart with the pointer of what leads somewhere, or of what does not. */
function withCursor(options: EChartsCoreOption, isClickable: boolean): EChartsCoreOption {
  const { series = [] } = options as { series?: object[] };
  const cursor = isClickable ? 'pointer' : 'default';
  return { ...options, series: series.map((one) => ({ ...one, cursor })) };
}

/** The same chart with its legend below it. */
function below(options: EChartsCoreOption): EChartsCoreOption {
  const { legend, grid } = options as { legend?: object; grid?: object };
  return {
    ...options,
    legend: { ...legend, orient: 'horizontal', right: 8, left: 8, top: 'auto', bottom: 2 },
    ...(grid ? { grid: { ...grid, right: 12, bottom: 34 } } : {}),
  };
}

export default function Chart({ options, height, onClick }: ChartProps) {
  const click = useRef(onClick);
  click.current = onClick;
  const isClickable = onClick !== undefined;
  const { element, chart, width } = useChart((created) => {
    created.on('click', ({ componentType, dataIndex, seriesIndex }) => {
      if (componentType === 'series') click.current?.(dataIndex, seriesIndex ?? 0);
    });
  });
  const isNarrow = width > 0 && width < NARROW;

  useEffect(() => {
    const shown = withCursor(options, isClickable);
    chart.current?.setOption(isNarrow ? below(shown) : shown, { notMerge: true });
  }, [options, isNarrow, isClickable, chart]);

  return <div ref={element} style={{ height }} data-testid="chart" />;
}

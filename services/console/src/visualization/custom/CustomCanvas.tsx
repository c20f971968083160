/** The drawing library behind custom visualizations. Loaded when the first one is looked at. */

import {
  GaugeChart,
  GraphChart,
  HeatmapChart,
  LinesChart,
  ParallelChart,
  SankeyChart,
  ScatterChart,
  SunburstChart,
  TreemapChart,
} from 'echarts/charts';
import {
  CalendarComponent,
  GridComponent,
  LegendScrollComponent,
  ParallelComponent,
  TooltipComponent,
  VisualMapContinuousComponent,
} from 'echarts/components';
import { use } from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';
import { useEffect, useRef } from 'react';
import { lookOf } from '../look';
import { asksForTab, useChart } from '../useChart';
import type { CustomKind } from './kinds';
import type { CustomModel } from './model';
import { customOptions } from './options';

use([
  CalendarComponent,
  CanvasRenderer,
  GaugeChart,
  GraphChart,
  GridComponent,
  HeatmapChart,
  LegendScrollComponent,
  LinesChart,
  ParallelChart,
  ParallelComponent,
  SankeyChart,
  ScatterChart,
  SunburstChart,
  TooltipComponent,
  TreemapChart,
  VisualMapContinuousComponent,
]);

interface CustomCanvasProps {
  kind: CustomKind;
  model: CustomModel;
  options: ReadonlyMap<string, string>;
  height: number;
  scheme: string;
  zone: string;
  onClick?: ((row: number, newTab: boolean) => void) | undefined;
}

export default function CustomCanvas(props: CustomCanvasProps) {
  const { kind, model, options, height, scheme, zone, onClick } = props;
  const click = useRef(onClick);
  click.current = onClick;
  const { element, chart, width } = useChart((created) => {
    created.on('click', (event) => {
      const row = (event.data as { row?: number } | undefined)?.row;
      if (row !== undefined) click.current?.(row, asksForTab(event));
    });
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the scheme changes the colours that are read
  useEffect(() => {
    if (!element.current || width === 0) return;
    const context = { look: lookOf(element.current), zone, width, height, options };
    chart.current?.setOption(customOptions(kind, model, context), { notMerge: true });
  }, [kind, model, options, height, scheme, zone, width]);
  return <div ref={element} style={{ height, cursor: onClick ? 'pointer' : 'default' }} />;
}

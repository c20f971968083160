/** The drawing library behind a map. Loaded when the first one is looked at. */

import { MapChart, PieChart, ScatterChart } from 'echarts/charts';
import { GeoComponent, TooltipComponent } from 'echarts/components';
import { type EChartsType, getMap, registerMap, use } from 'echarts/core';
import { CanvasRenderer } from 'echarts/renderers';
import { type Ref, useEffect, useImperativeHandle, useRef } from 'react';
import { lookOf } from '../look';
import { asksForTab, useChart } from '../useChart';
import type { Bin, RegionRow } from './choropleth';
import {
  geoOptions,
  type MapLook,
  markerSeries,
  regionColors,
  regionSeries,
  tooltipOf,
  worldWidth,
} from './mapOptions';
import { levelAt, type MarkerData, markersAt } from './markers';
import type { Outline } from './outlines';

use([CanvasRenderer, GeoComponent, MapChart, PieChart, ScatterChart, TooltipComponent]);

export interface MapHandle {
  /** 0 for the whole. */
  zoom: (factor: number) => void;
}

interface MapCanvasProps {
  /** The same name is always the same outline. */
  name: string;
  outline: Outline;
  isWorld: boolean;
  look: MapLook;
  height: number;
  scheme: string;
  markers: MarkerData | null;
  regions: { placed: ReadonlyMap<string, RegionRow>; bins: Bin[]; valueField: string } | null;
  onClick?: ((row: number, newTab: boolean) => void) | undefined;
  /** Hears how many markers of the zoom level are left out. */
  onLeftOut: (count: number) => void;
  handle: Ref<MapHandle>;
}

export default function MapCanvas(props: MapCanvasProps) {
  const { name, outline, isWorld, look, height, scheme, markers, regions, onClick, handle } = props;
  const click = useRef(onClick);
  click.current = onClick;
  const leftOut = useRef(props.onLeftOut);
  leftOut.current = props.onLeftOut;
  const moved = useRef<() => void>(() => {});
  const { element, chart, width } = useChart((created) => {
    created.on('click', (event) => {
      const row = (event.data as { row?: number } | undefined)?.row;
      if (row !== undefined) click.current?.(row, asksForTab(event));
    });
    created.on('georoam', () => moved.current());
  });

  // biome-ignore lint/correctness/useExhaustiveDependencies: the scheme changes the colours that are read
  useEffect(() => {
    if (!element.current || !chart.current || width === 0) return;
    const drawn = chart.current;
    if (!getMap(name)) registerMap(name, outline as Parameters<typeof registerMap>[1]);
    const context = { look: lookOf(element.current), width, height };
    let level = -1;
    const seriesNow = () => {
      if (regions) {
        return regionSeries(regions.placed, regions.valueField);
      }
      if (!markers) return [];
      const shown = markersAt(markers, level, look.mostMarkers);
      const all = markers.markers.filter((marker) => marker.level === level).length;
      leftOut.current(all - shown.length);
      return markerSeries(markers, shown, look, context);
    };
    const levelNow = (zoom: number) =>
      levelAt(worldWidth(width, height) * zoom, markers?.maxLevel ?? 0);
    const outlines = geoOptions(name, isWorld, look, context);
    const geo = regions
      ? { ...outlines, regions: regionColors(regions.placed, regions.bins, look, context) }
      : outlines;
    level = levelNow(Number(outlines.zoom ?? 1));
    drawn.setOption(
      { animation: false, geo, tooltip: tooltipOf(context.look), series: seriesNow() },
      { notMerge: true },
    );
    moved.current = () => {
      const next = levelNow(zoomOf(drawn));
      if (next === level) return;
      level = next;
      drawn.setOption({ series: seriesNow() }, { replaceMerge: ['series'] });
    };
    return () => {
      moved.current = () => {};
    };
  }, [name, outline, isWorld, look, scheme, width, height, markers, regions]);

  useImperativeHandle(
    handle,
    () => ({
      zoom: (factor) => {
        const drawn = chart.current;
        if (!drawn) return;
        const zoom = factor === 0 ? 1 : Math.max(1, Math.min(64, zoomOf(drawn) * factor));
        const geo = factor === 0 ? { zoom, center: null } : { zoom };
        drawn.setOption({ geo });
        moved.current();
      },
    }),
    [chart],
  );

  return <div ref={element} style={{ height }} />;
}

function zoomOf(chart: EChartsType): number {
  const { geo } = chart.getOption() as { geo?: { zoom?: number }[] };
  return geo?.[0]?.zoom ?? 1;
}

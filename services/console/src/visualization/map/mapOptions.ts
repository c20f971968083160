/**
 * From markers and regions to the options of ECharts. Names come from events: tooltips are drawn, never
 * markup.
 */

import type { EChartsCoreOption } from 'echarts/core';
import { grouped } from '../../app/format';
import { type Look, seriesColor } from '../chartOptions';
import type { Bin, RegionRow } from './choropleth';
import type { Marker, MarkerData } from './markers';

export interface MapLook {
  kind: 'marker' | 'choropleth';
  /** Latitude and longitude; null for the whole. */
  center: [number, number] | null;
  /** As maps of tiles count: the world is 256 pixels wide at 0. Null for the whole. */
  zoom: number | null;
  /** Whether the wheel zooms: else it scrolls the page. */
  wheelZooms: boolean;
  seriesColors: string[];
  fieldColors: ReadonlyMap<string, string>;
  /** Pixels of the smallest and the largest marker across. */
  markerMin: number;
  markerMax: number;
  markerOpacity: number;
  mostMarkers: number;
  shapeOpacity: number;
  hasBorders: boolean;
  hasLegend: boolean;
}

/** Degrees that are shown: the poles have nothing to show. */
const [WEST, EAST, SOUTH, NORTH] = [-180, 180, -58, 84];
/** The states of the United States, without islands beyond Hawaii. */
const STATES = [
  [-172, 72],
  [-65, 17],
];
/** How much narrower a degree of longitude is drawn than one of latitude. */
export const ASPECT = 0.8;
const RATIO = ((EAST - WEST) * ASPECT) / (NORTH - SOUTH);

/** Pixels of the whole world at zoom 1 in a box. */
export const worldWidth = (width: number, height: number): number =>
  Math.min(width, height * RATIO);

/** A zoom level of tiles as a factor of the whole. */
export function zoomFactor(level: number | null, width: number, height: number): number {
  if (level === null) return 1;
  return Math.max(1, Math.min(64, (256 * 2 ** level) / worldWidth(width, height)));
}

export interface MapContext {
  look: Look;
  width: number;
  height: number;
}

const number = (value: number): string => grouped(Math.round(value * 1000) / 1000);

export const tooltipOf = (look: Look) => ({
  renderMode: 'richText',
  confine: true,
  backgroundColor: look.surface,
  borderColor: look.line,
  textStyle: { color: look.text, fontSize: 12, fontFamily: look.font },
});

/** The outlines and where they stand. */
export function geoOptions(
  map: string,
  isWorld: boolean,
  plot: MapLook,
  { look, width, height }: MapContext,
): EChartsCoreOption {
  return {
    map,
    roam: plot.wheelZooms ? true : 'move',
    scaleLimit: { min: 1, max: 64 },
    aspectScale: ASPECT,
    left: 0,
    right: 0,
    top: 0,
    bottom: 0,
    ...(isWorld
      ? {
          boundingCoords: [
            [WEST, NORTH],
            [EAST, SOUTH],
          ],
        }
      : {}),
    ...(map === 'us' ? { boundingCoords: STATES } : {}),
    ...(plot.center && isWorld ? { center: [plot.center[1], plot.center[0]] } : {}),
    zoom: isWorld ? zoomFactor(plot.zoom, width, height) : 1,
    itemStyle: { areaColor: look.line, borderColor: look.surface, borderWidth: 0.6 },
    emphasis: { disabled: true },
    select: { disabled: true },
    silent: plot.kind === 'marker',
  };
}

const colorOf = (plot: MapLook, look: Look, name: string, at: number): string => {
  const palette = plot.seriesColors.length > 0 ? plot.seriesColors : look.palette;
  const color = plot.fieldColors.get(name) ?? plot.seriesColors[at];
  return color ?? seriesColor(name, at, palette) ?? look.text;
};

/** The area of a marker is in proportion to its number. */
export function markerSize(value: number, largest: number, plot: MapLook): number {
  const share = largest === 0 ? 1 : Math.sqrt(Math.abs(value) / largest);
  return plot.markerMin + (plot.markerMax - plot.markerMin) * Math.min(1, share);
}

/** One series of circles, or a pie for each marker where there are several numbers. */
export function markerSeries(
  data: MarkerData,
  markers: readonly Marker[],
  plot: MapLook,
  { look }: MapContext,
): object[] {
  const largest = markers.reduce((most, marker) => Math.max(most, Math.abs(marker.total)), 0);
  if (data.series.length < 2) {
    const name = data.series[0] ?? 'events';
    return [
      {
        type: 'scatter',
        coordinateSystem: 'geo',
        name,
        data: markers.map((marker) => ({
          value: [marker.longitude, marker.latitude, marker.total],
          row: marker.row,
          symbolSize: markerSize(marker.total, largest, plot),
        })),
        itemStyle: {
          color: colorOf(plot, look, name, 0),
          opacity: plot.markerOpacity,
          borderColor: look.surface,
        },
        tooltip: {
          formatter: ({ value }: { value: number[] }) =>
            `${name}: ${number(value[2] ?? 0)}\n${place(value[1] ?? 0, value[0] ?? 0)}`,
        },
      },
    ];
  }
  return markers.map((marker) => ({
    type: 'pie',
    coordinateSystem: 'geo',
    center: [marker.longitude, marker.latitude],
    radius: markerSize(marker.total, largest, plot) / 2,
    label: { show: false },
    labelLine: { show: false },
    emphasis: { scale: false },
    itemStyle: { opacity: plot.markerOpacity, borderColor: look.surface, borderWidth: 0.5 },
    data: data.series.flatMap((name, at) => {
      const value = marker.values[at] ?? 0;
      return value > 0
        ? [{ name, value, row: marker.row, itemStyle: { color: colorOf(plot, look, name, at) } }]
        : [];
    }),
    tooltip: {
      formatter: ({ name, value, percent }: { name: string; value: number; percent: number }) =>
        `${name}: ${number(value)} (${percent} %)\n${place(marker.latitude, marker.longitude)}`,
    },
  }));
}

const degrees = (value: number, positive: string, negative: string) =>
  `${Math.abs(value).toFixed(2)}° ${value < 0 ? negative : positive}`;
const place = (latitude: number, longitude: number) =>
  `${degrees(latitude, 'N', 'S')}, ${degrees(longitude, 'E', 'W')}`;

/** The names and colours of a legend. */
export function legendOf(data: MarkerData, plot: MapLook, look: Look): [string, string][] {
  if (data.series.length < 2) return [];
  return data.series.map((name, at) => [name, colorOf(plot, look, name, at)]);
}

/** The colours of regions; those without a value keep that of the outline. */
export function regionColors(
  placed: ReadonlyMap<string, RegionRow>,
  bins: readonly Bin[],
  plot: MapLook,
  { look }: MapContext,
): object[] {
  return [...placed].flatMap(([name, row]) => {
    const color = bins.find((bin) => bin.holds(row))?.color;
    if (!color) return [];
    const borderColor = plot.hasBorders ? look.surface : color;
    return [{ name, itemStyle: { areaColor: color, opacity: plot.shapeOpacity, borderColor } }];
  });
}

/**
 * The rows behind the regions, for tooltips and clicks: on a map with outlines, colours are those of the
 * outlines.
 */
export function regionSeries(placed: ReadonlyMap<string, RegionRow>, valueField: string): object[] {
  const data = [...placed].map(([name, row]) => ({
    name,
    value: row.value ?? Number.NaN,
    row: row.row,
    text: row.text,
    written: row.name,
  }));
  return [
    {
      type: 'map',
      geoIndex: 0,
      data,
      emphasis: { disabled: true },
      select: { disabled: true },
      tooltip: {
        formatter: ({ name, data }: { name: string; data?: { written: string; text: string } }) =>
          data ? `${data.written}\n${valueField}: ${data.text}` : name,
      },
    },
  ];
}

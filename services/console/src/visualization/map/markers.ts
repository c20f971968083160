/**
 * From the rows of `geostats`, or any rows with coordinates, to the markers of a map.
 * `geostats` answers every zoom level at once: a marker knows its level, and one level is shown at a time.
 */

import type { ResultRows } from '../../api/types';
import { cellNumber, cellText, isNumericIn } from '../../statistics/table';

export interface Marker {
  /** Its row in the results. */
  row: number;
  latitude: number;
  longitude: number;
  /** The zoom level of its bin; 0 where there are no bins. */
  level: number;
  /** The number of each series; their sum. */
  values: (number | null)[];
  total: number;
}

export interface MarkerData {
  latitude: string;
  longitude: string;
  series: string[];
  markers: Marker[];
  /** The highest zoom level. */
  maxLevel: number;
}

const LATITUDES = ['latitude', 'lat'];
const LONGITUDES = ['longitude', 'lon', 'lng', 'long'];
const BIN = /^bin_id_zl_(\d+)_y_(\d+)_x_(\d+)$/;
/** The size of a bin at level 0, in degrees: the defaults of geostats. */
const BIN_LATITUDE = 22.5;
const BIN_LONGITUDE = 45;

/** Null where the rows have no coordinates. */
export function markersOf(results: ResultRows): MarkerData | null {
  const columns = results.fields.map((name, at) => ({ name, at }));
  const named = (names: string[]) => columns.find(({ name }) => names.includes(name.toLowerCase()));
  const bin = columns.find(({ name }) => name === 'geobin');
  // outputlatfield and outputlongfield name them otherwise, behind the bin.
  const latitude = named(LATITUDES) ?? (bin && columns[bin.at + 1]);
  const longitude = named(LONGITUDES) ?? (bin && columns[bin.at + 2]);
  if (!latitude || !longitude || latitude === longitude) return null;
  const series = columns.filter(
    (column) =>
      column !== bin &&
      column !== latitude &&
      column !== longitude &&
      !column.name.startsWith('_') &&
      isNumericIn(results, column.at),
  );
  const markers: Marker[] = [];
  let maxLevel = 0;
  results.rows.forEach((cells, row) => {
    const y = cellNumber(cells[latitude.at] ?? null);
    const x = cellNumber(cells[longitude.at] ?? null);
    if (y === null || x === null || Math.abs(y) > 90 || Math.abs(x) > 180) return;
    const level = Number(BIN.exec(bin ? cellText(cells[bin.at] ?? null) : '')?.[1] ?? 0);
    maxLevel = Math.max(maxLevel, level);
    const values = series.map(({ at }) => cellNumber(cells[at] ?? null));
    // Rows without a number count as one each.
    const total =
      series.length === 0 ? 1 : values.reduce<number>((sum, value) => sum + (value ?? 0), 0);
    markers.push({ row, latitude: y, longitude: x, level, values, total });
  });
  return {
    latitude: latitude.name,
    longitude: longitude.name,
    series: series.map(({ name }) => name),
    markers,
    maxLevel,
  };
}

/** Pixels that a bin has at least. */
const LEAST_BIN = 50;

/** The zoom level whose bins are far enough apart where the world is so many pixels wide. */
export function levelAt(worldPixels: number, maxLevel: number): number {
  const level = Math.floor(Math.log2(worldPixels / (360 / BIN_LONGITUDE) / LEAST_BIN));
  return Math.max(0, Math.min(maxLevel, level));
}

/** The largest markers of a level, the largest first, so that small ones are drawn upon them. */
export function markersAt(data: MarkerData, level: number, most: number): Marker[] {
  const size = (marker: Marker) => Math.abs(marker.total);
  return data.markers
    .filter((marker) => marker.level === level)
    .sort((a, b) => size(b) - size(a))
    .slice(0, most);
}

export interface Bounds {
  south: number;
  west: number;
  north: number;
  east: number;
}

/** The corners of the bin of a row; null where it has none. */
export function boundsOf(geobin: string): Bounds | null {
  const found = BIN.exec(geobin);
  if (!found) return null;
  const [level, y, x] = found.slice(1).map(Number) as [number, number, number];
  const height = BIN_LATITUDE / 2 ** level;
  const width = BIN_LONGITUDE / 2 ** level;
  const [south, west] = [y * height - 90, x * width - 180];
  return { south, west, north: south + height, east: west + width };
}

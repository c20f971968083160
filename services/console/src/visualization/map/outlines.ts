/**
 * Outlines of countries and states, loaded when a map is looked at. They are parts of the console (Natural
 * Earth by world-atlas, the US Census Bureau by us-atlas): nothing is fetched from elsewhere.
 */

import type { Feature, FeatureCollection, Geometry, Position } from 'geojson';
import { feature } from 'topojson-client';
import type { GeometryCollection, Topology } from 'topojson-specification';

export type OutlineName = 'world' | 'us';

export type Outline = FeatureCollection<Geometry, { name: string }>;

const loaded = new Map<OutlineName, Promise<Outline>>();

async function load(name: OutlineName): Promise<Outline> {
  const { default: file } =
    name === 'world'
      ? await import('world-atlas/countries-110m.json')
      : await import('us-atlas/states-10m.json');
  const topology = file as unknown as Topology;
  const objects = topology.objects[name === 'world' ? 'countries' : 'states'];
  const all = feature(topology, objects as GeometryCollection<{ name: string }>);
  // Antarctica surrounds a pole, which a flat map has no place for.
  const features = all.features.filter((one) => one.properties.name !== 'Antarctica');
  return { ...all, features: features.map((one) => flat(one, name === 'us')) };
}

/**
 * A shape that crosses the 180th meridian in its parts on either side: on a flat map, its edge would run
 * around the world. `isWest`: all of it west of the meridian, so that the Aleutians stay beside Alaska.
 */
function flat(
  shape: Feature<Geometry, { name: string }>,
  isWest: boolean,
): Feature<Geometry, { name: string }> {
  const { geometry } = shape;
  if (geometry.type !== 'Polygon' && geometry.type !== 'MultiPolygon') return shape;
  const polygons = geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates;
  const coordinates = polygons.flatMap((rings) =>
    isWest
      ? [rings.map((ring) => ring.map(([x = 0, y = 0]) => [x > 0 ? x - 360 : x, y]))]
      : atMeridian(rings),
  );
  return { ...shape, geometry: { type: 'MultiPolygon', coordinates } };
}

function atMeridian(rings: Position[][]): Position[][][] {
  const unrolled = rings.map(unroll);
  const all = unrolled.flat().map(([x = 0]) => x);
  const [least, most] = [Math.min(...all), Math.max(...all)];
  if (least >= -180 && most <= 180) return [rings];
  const parts: Position[][][] = [];
  for (const turn of [-360, 0, 360]) {
    const part = unrolled.flatMap((ring) => {
      const moved = ring.map(([x = 0, y = 0]) => [x + turn, y]);
      const kept = clipped(clipped(moved, -180, 1), 180, -1);
      return kept.length > 3 ? [kept] : [];
    });
    if (part.length > 0) parts.push(part);
  }
  return parts;
}

/** A ring without jumps: its longitudes may go beyond 180. */
export function unroll(ring: Position[]): Position[] {
  let turn = 0;
  let before: number | null = null;
  return ring.map(([x = 0, y = 0]) => {
    if (before !== null && x + turn - before > 180) turn -= 360;
    else if (before !== null && x + turn - before < -180) turn += 360;
    before = x + turn;
    return [before, y];
  });
}

/** The part of a ring on one side of a meridian: east of it with `side` 1, west with -1. */
function clipped(ring: Position[], meridian: number, side: 1 | -1): Position[] {
  const isIn = (x: number) => (x - meridian) * side >= 0;
  const kept: Position[] = [];
  ring.forEach(([x = 0, y = 0], at) => {
    const [px = 0, py = 0] = ring[at === 0 ? ring.length - 1 : at - 1] ?? [];
    if (isIn(x) !== isIn(px)) {
      kept.push([meridian, py + ((y - py) * (meridian - px)) / (x - px)]);
    }
    if (isIn(x)) kept.push([x, y]);
  });
  const first = kept[0];
  if (first && kept.length > 2) kept.push(first);
  return kept;
}

export function outline(name: OutlineName): Promise<Outline> {
  const known = loaded.get(name);
  if (known) return known;
  const begun = load(name);
  loaded.set(name, begun);
  // A chunk that did not come is asked for again.
  begun.catch(() => loaded.delete(name));
  return begun;
}

/** Points of one shape: results bring them, so they have a limit. */
const MOST_POINTS = 20_000;

const isPoint = (value: unknown): boolean =>
  Array.isArray(value) && Number.isFinite(value[0]) && Number.isFinite(value[1]);

/** A shape of the results; null for what is no polygon of numbers. */
export function shapeOf(name: string, text: string): Feature<Geometry, { name: string }> | null {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    return null;
  }
  const object = parsed as { type?: unknown; geometry?: unknown } | null;
  const geometry = (object?.type === 'Feature' ? object.geometry : object) as {
    type?: unknown;
    coordinates?: unknown;
  } | null;
  if (geometry?.type !== 'Polygon' && geometry?.type !== 'MultiPolygon') return null;
  const polygons = geometry.type === 'Polygon' ? [geometry.coordinates] : geometry.coordinates;
  if (!Array.isArray(polygons)) return null;
  let points = 0;
  for (const rings of polygons) {
    if (!Array.isArray(rings)) return null;
    for (const ring of rings) {
      if (!Array.isArray(ring) || !ring.every(isPoint)) return null;
      points += ring.length;
    }
  }
  if (points === 0 || points > MOST_POINTS) return null;
  return {
    type: 'Feature',
    properties: { name },
    geometry: { type: geometry.type, coordinates: geometry.coordinates } as Geometry,
  };
}

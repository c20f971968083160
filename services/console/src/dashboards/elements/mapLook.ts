/** From the options of a map to its look. */

import type { ChoroplethLook, ColorMode } from '../../visualization/map/choropleth';
import type { MapLook } from '../../visualization/map/mapOptions';
import type { Options } from '../model/types';
import { colorOf, colorsOf, flag, numberOf, numbersOf, pairsOf } from '../model/values';

const within = (value: number | null, least: number, most: number, otherwise: number): number =>
  value === null ? otherwise : Math.max(least, Math.min(most, value));

export function mapLook(options: Options): MapLook {
  const number = (name: string) => numberOf(options.get(`mapping.${name}`));
  const center = numbersOf(options.get('mapping.map.center')?.replace(/[()]/g, ''));
  const [latitude, longitude] = center;
  const fieldColors = new Map<string, string>();
  for (const [field, color] of pairsOf(options.get('mapping.fieldcolors'))) {
    const known = colorOf(color);
    if (known) fieldColors.set(field, known);
  }
  const markerMin = within(number('markerlayer.markerminsize'), 1, 100, 10);
  const zoom = number('map.zoom');
  return {
    kind:
      options.get('mapping.type')?.trim().toLowerCase() === 'choropleth' ? 'choropleth' : 'marker',
    // The center of the world is no wish.
    center:
      latitude !== undefined && longitude !== undefined && (latitude !== 0 || longitude !== 0)
        ? [latitude, longitude]
        : null,
    // 2 is what Splunk's editor writes for the whole world.
    zoom: zoom === null || zoom <= 2 ? null : zoom,
    wheelZooms: flag(options.get('mapping.map.scrollzoom'), false),
    seriesColors: colorsOf(options.get('mapping.seriescolors')),
    fieldColors,
    markerMin,
    markerMax: Math.max(markerMin, within(number('markerlayer.markermaxsize'), 1, 200, 50)),
    markerOpacity: within(number('markerlayer.markeropacity'), 0.1, 1, 0.8),
    mostMarkers: within(number('data.maxclusters'), 1, 1_000, 100),
    shapeOpacity: within(number('choroplethlayer.shapeopacity'), 0.1, 1, 0.9),
    hasBorders: flag(options.get('mapping.choroplethlayer.showborder'), true),
    hasLegend: options.get('mapping.legend.placement')?.trim().toLowerCase() !== 'none',
  };
}

const MODES: readonly ColorMode[] = ['auto', 'sequential', 'divergent', 'categorical'];

export function choroplethColors(
  options: Options,
  fieldColors: ReadonlyMap<string, string>,
): Omit<ChoroplethLook, 'neutralColor' | 'categoryColors'> {
  const option = (name: string) => options.get(`mapping.choroplethlayer.${name}`);
  const mode = option('colormode')?.trim().toLowerCase();
  return {
    mode: MODES.find((known) => known === mode) ?? 'auto',
    bins: within(numberOf(option('colorbins')), 2, 12, 5),
    minimumColor: colorOf(option('minimumcolor')) ?? '#2f25ba',
    maximumColor: colorOf(option('maximumcolor')) ?? '#db5800',
    neutralPoint: numberOf(option('neutralpoint')) ?? 0,
    fieldColors,
  };
}

/** A map with its legend, buttons that zoom, and a table for who does not see it. */

import { ActionIcon, useComputedColorScheme } from '@mantine/core';
import { IconFocusCentered, IconMinus, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useMemo, useRef, useState } from 'react';
import type { ResultRows } from '../../api/types';
import { plural } from '../../app/format';
import { Skeleton } from '../../states/Skeleton';
import { PALETTE_DARK, PALETTE_LIGHT, seriesColor } from '../chartOptions';
import plotStyles from '../Plot.module.css';
import { PlotFrame } from '../PlotFrame';
import { binsOf, type ChoroplethLook, type RegionData, type RegionRow } from './choropleth';
import type { MapHandle } from './MapCanvas';
import styles from './MapView.module.css';
import type { MapLook } from './mapOptions';
import type { MarkerData } from './markers';
import type { Outline, OutlineName } from './outlines';

const MapCanvas = lazy(() => import('./MapCanvas'));

interface MapViewProps {
  results: ResultRows;
  look: MapLook;
  colors: Omit<ChoroplethLook, 'neutralColor' | 'categoryColors'>;
  height: number;
  label: string;
  outlineName: OutlineName;
  markers: MarkerData | null;
  regions: RegionData | null;
  onClick?: ((row: number, newTab: boolean) => void) | undefined;
}

export function MapView(props: MapViewProps) {
  const { results, look, height, label, outlineName, markers, regions, onClick } = props;
  const scheme = useComputedColorScheme('light');
  const [leftOut, setLeftOut] = useState(0);
  const handle = useRef<MapHandle>(null);
  const hasShapes = regions?.rows.some((row) => row.shape !== '') ?? false;
  const { data, error } = useQuery({
    queryKey: ['outline', outlineName],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () => loadOutline(outlineName),
    enabled: !hasShapes,
  });
  const own = useShapes(hasShapes ? regions : null);
  const drawn = hasShapes ? own : data;
  const palette = look.seriesColors.length > 0 ? look.seriesColors : paletteOf(scheme);
  const painted = useMemo(() => {
    if (!regions || !drawn) return null;
    const neutralColor = scheme === 'dark' ? '#3a444b' : '#eef1f3';
    const bins = binsOf(regions, { ...props.colors, neutralColor, categoryColors: palette });
    const placed = new Map<string, RegionRow>();
    const missing: string[] = [];
    for (const row of regions.rows) {
      const name = drawn.find(row.name);
      if (name === null) missing.push(row.name);
      else if (!placed.has(name)) placed.set(name, row);
    }
    return { bins, placed, missing, valueField: regions.valueField };
  }, [regions, drawn, props.colors, palette, scheme]);
  const legend: [string, string][] = painted
    ? painted.bins.map((bin) => [bin.label, bin.color])
    : (markers?.series ?? []).length > 1
      ? (markers?.series ?? []).map((name, at) => [
          name,
          look.fieldColors.get(name) ??
            look.seriesColors[at] ??
            seriesColor(name, at, palette) ??
            '',
        ])
      : [];
  const count = markers ? markers.markers.length : (regions?.rows.length ?? 0);
  const what = markers ? 'Map of markers' : `Map of ${regions?.valueField} by ${regions?.field}`;
  const summary = `${label ? `${label}: ` : ''}${what}, ${plural(count, 'row')}`;
  if (error) return <p>The outlines of the map could not be loaded: {error.message}</p>;
  return (
    <PlotFrame
      results={results}
      height={height}
      label={summary}
      word="map"
      below={
        <>
          {leftOut > 0 && (
            <p
              className={plotStyles.note}
            >{`${plural(leftOut, 'smaller marker')} of this zoom level omitted.`}</p>
          )}
          {painted && painted.missing.length > 0 && (
            <p className={plotStyles.note} data-testid="not-on-map">
              {`Not on the map: ${painted.missing
                .slice(0, 10)
                .map((name) => name || '(empty)')
                .join(', ')}`}
              {painted.missing.length > 10 && ` and ${painted.missing.length - 10} more`}
            </p>
          )}
        </>
      }
    >
      <div className={styles.map} style={{ minHeight: height }}>
        <div role="img" aria-label={summary} data-testid="map" data-kind={look.kind}>
          {!drawn && <Skeleton lines={4} />}
          {drawn && (
            <Suspense fallback={<Skeleton lines={4} />}>
              <MapCanvas
                name={drawn.name}
                outline={drawn.outline}
                isWorld={drawn.name === 'world'}
                look={look}
                height={height}
                scheme={scheme}
                markers={markers}
                regions={painted}
                onClick={onClick}
                onLeftOut={setLeftOut}
                handle={handle}
              />
            </Suspense>
          )}
        </div>
        <div className={styles.buttons}>
          <ActionIcon
            size={26}
            variant="default"
            aria-label="Zoom in"
            onClick={() => handle.current?.zoom(2)}
          >
            <IconPlus size={14} />
          </ActionIcon>
          <ActionIcon
            size={26}
            variant="default"
            aria-label="Zoom out"
            onClick={() => handle.current?.zoom(0.5)}
          >
            <IconMinus size={14} />
          </ActionIcon>
          <ActionIcon
            size={26}
            variant="default"
            aria-label="The whole map"
            onClick={() => handle.current?.zoom(0)}
          >
            <IconFocusCentered size={14} />
          </ActionIcon>
        </div>
      </div>
      {look.hasLegend && legend.length > 0 && (
        <ul className={styles.legend} aria-label="Legend">
          {legend.slice(0, 20).map(([name, color]) => (
            <li key={name}>
              <span style={{ background: color }} />
              {name}
            </li>
          ))}
        </ul>
      )}
    </PlotFrame>
  );
}

const paletteOf = (scheme: string) => (scheme === 'dark' ? PALETTE_DARK : PALETTE_LIGHT);

interface Drawn {
  name: string;
  outline: Outline;
  find: (name: string) => string | null;
}

/** Outlines and names are one chunk, apart from the drawing library. */
async function loadOutline(name: OutlineName): Promise<Drawn> {
  const [{ outline }, { countryFinder, stateFinder }] = await Promise.all([
    import('./outlines'),
    import('./regions'),
  ]);
  const found = await outline(name);
  const names = found.features.map((one) => one.properties.name);
  return {
    name,
    outline: found,
    find: name === 'world' ? countryFinder(names) : stateFinder(names),
  };
}

let shapes = 0;

/** The shapes that the results bring themselves. */
function useShapes(regions: RegionData | null): Drawn | undefined {
  const { data } = useQuery({
    queryKey: ['shapes', regions?.rows.map((row) => [row.name, row.shape])],
    enabled: regions !== null,
    gcTime: 60_000,
    queryFn: async (): Promise<Drawn> => {
      const { shapeOf } = await import('./outlines');
      const features = (regions?.rows ?? []).flatMap((row) => shapeOf(row.name, row.shape) ?? []);
      const names = new Set(features.map((one) => one.properties.name));
      shapes += 1;
      return {
        name: `shapes-${shapes}`,
        outline: { type: 'FeatureCollection', features },
        find: (name) => (names.has(name) ? name : null),
      };
    },
  });
  return data;
}

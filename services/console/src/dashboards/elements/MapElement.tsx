/** A map over the rows of a search: markers of coordinates, or regions by their values. */

import { useMemo } from 'react';
import { cellText } from '../../statistics/table';
import { regionsOf } from '../../visualization/map/choropleth';
import { MapView } from '../../visualization/map/MapView';
import { boundsOf, markersOf } from '../../visualization/map/markers';
import { useDashboard } from '../DashboardContext';
import { showsEventsBehind } from '../model/drilldownOption';
import type { Click } from '../runtime/links';
import type { ResultsProps } from './ElementView';
import styles from './ElementView.module.css';
import { choroplethColors, mapLook } from './mapLook';
import { TableElement } from './TableElement';

export function MapElement(props: ResultsProps) {
  const { element, options, state, height, title } = props;
  const { run } = useDashboard();
  const { rows } = state;
  const look = useMemo(() => mapLook(options), [options]);
  const colors = useMemo(() => choroplethColors(options, look.fieldColors), [options, look]);
  const isMarker = look.kind === 'marker';
  const markers = useMemo(() => (rows && isMarker ? markersOf(rows) : null), [rows, isMarker]);
  const field = element.shapes?.field ?? null;
  const regions = useMemo(
    () => (rows && !isMarker ? regionsOf(rows, field) : null),
    [rows, isMarker, field],
  );
  if (!rows) return null;
  if (!markers && !regions) {
    return (
      <>
        <p className={styles.unsupported} role="note">
          {isMarker
            ? 'A map of markers needs columns latitude and longitude, as returned by geostats. The table has the results.'
            : 'A map of regions needs a column of their names and one of values. The table has the results.'}
        </p>
        <TableElement {...props} />
      </>
    );
  }
  const isClickable = element.drilldown !== null || showsEventsBehind('map', options);
  const click = (at: number, newTab: boolean) => {
    const row = new Map(
      rows.fields.map((name, column) => [name, cellText(rows.rows[at]?.[column] ?? null)]),
    );
    const clicked = markers ? markerClick(markers, row) : regionClick(regions, row);
    run.click(element, clicked, newTab);
  };
  return (
    <MapView
      results={rows}
      look={look}
      colors={colors}
      height={height}
      label={title}
      outlineName={element.shapes?.outline ?? 'world'}
      markers={markers}
      regions={regions}
      onClick={isClickable ? click : undefined}
    />
  );
}

function markerClick(
  names: { latitude: string; longitude: string },
  row: ReadonlyMap<string, string>,
): Click {
  const [latitude, longitude] = [names.latitude, names.longitude];
  const [lat, lon] = [row.get(latitude) ?? '', row.get(longitude) ?? ''];
  const tokens = new Map([
    ['click.lat.name', latitude],
    ['click.lat.value', lat],
    ['click.lon.name', longitude],
    ['click.lon.value', lon],
  ]);
  const bounds = boundsOf(row.get('geobin') ?? '');
  for (const [side, value] of Object.entries(bounds ?? {})) {
    tokens.set(`click.bounds.${side}`, String(value));
  }
  return { name: latitude, value: lat, name2: longitude, value2: lon, row, tokens };
}

function regionClick(
  regions: { field: string; valueField: string } | null,
  row: ReadonlyMap<string, string>,
): Click {
  const [name, name2] = [regions?.field ?? '', regions?.valueField ?? ''];
  return { name, value: row.get(name) ?? '', name2, value2: row.get(name2) ?? '', row };
}

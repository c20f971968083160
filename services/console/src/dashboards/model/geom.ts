/** Maps of regions whose outlines the console has: their searches need not ask the server for shapes. */

import type { OutlineName } from '../../visualization/map/outlines';

export interface BuiltInShapes {
  outline: OutlineName;
  /** The field that names the region; null where geom was told none. */
  field: string | null;
}

const BUILT_IN: Record<string, OutlineName> = { geo_countries: 'world', geo_us_states: 'us' };
const GEOM = /\|\s*geom\s+(geo_countries|geo_us_states)\b([^|]*)/i;

/**
 * Takes `| geom geo_countries ...` out of the search of a map: the server has no such lookup, and the
 * console has the outlines. Null for any other search.
 */
export function withoutGeom(query: string): { query: string; shapes: BuiltInShapes } | null {
  const found = GEOM.exec(query);
  const outline = BUILT_IN[found?.[1]?.toLowerCase() ?? ''];
  if (!found || !outline) return null;
  const field = /featureIdField\s*=\s*(?:"([^"]*)"|(\S+))/i.exec(found[2] ?? '');
  const rest = query.slice(found.index + found[0].length);
  const kept = `${query.slice(0, found.index).trimEnd()}${rest === '' ? '' : ` ${rest}`}`;
  return { query: kept, shapes: { outline, field: field?.[1] ?? field?.[2] ?? null } };
}

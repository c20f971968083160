/**
 * The option that says what a click on an element does where it has no `<drilldown>`: nothing, or a search for
 * the events behind the value. Its names and its default differ between the kinds of elements.
 */

import type { Options } from './types';
import { flag } from './values';

/** Those of reports in Splunk; a single value is clickable only where its author says so. */
const DEFAULTS: Record<string, string> = { table: 'cell', chart: 'all', map: 'all', event: 'full' };

const PREFIXES: Record<string, string> = { chart: 'charting', map: 'mapping' };

/** The names of the option, the one that counts first. */
export function drilldownNames(kind: string, options: Options): string[] {
  const prefix =
    kind === 'event' ? options.get('type')?.trim().toLowerCase() || 'list' : PREFIXES[kind];
  return prefix === undefined ? ['drilldown'] : [`${prefix}.drilldown`, 'drilldown'];
}

/** In lower case: `none`, `row`, `cell`, `all` and the like. */
export function drilldownOption(kind: string, options: Options): string {
  const written = drilldownNames(kind, options).map((name) => options.get(name));
  const found = written.find((value) => value !== undefined) ?? DEFAULTS[kind] ?? 'none';
  return found.trim().toLowerCase();
}

/** Whether a click can show the events behind a value: a search has no condition for a place on a map. */
export const hasEventsBehind = (kind: string, options: Options): boolean =>
  kind !== 'map' || options.get('mapping.type')?.trim().toLowerCase() === 'choropleth';

/** Whether a click on an element without `<drilldown>` shows the events behind the value. */
export const showsEventsBehind = (kind: string, options: Options): boolean =>
  hasEventsBehind(kind, options) && flag(drilldownOption(kind, options), true);

/** What a search may become on a dashboard. */

import type { PanelKind } from '../dashboards/edit/operations';

interface Kind {
  value: string;
  label: string;
  element: PanelKind;
  options: Record<string, string>;
}

const chart = (value: string, label: string, more: Record<string, string> = {}): Kind => ({
  value,
  label,
  element: 'chart',
  options: { 'charting.chart': value, ...more },
});

export const PANEL_KINDS: readonly [Kind, ...Kind[]] = [
  { value: 'table', label: 'Table', element: 'table', options: {} },
  chart('line', 'Line chart'),
  chart('area', 'Area chart', { 'charting.chart.stackMode': 'stacked' }),
  chart('column', 'Column chart'),
  chart('bar', 'Bar chart'),
  chart('pie', 'Pie chart'),
  { value: 'single', label: 'Single value', element: 'single', options: {} },
  { value: 'event', label: 'Events', element: 'event', options: {} },
];

/** The dashboard that gets the panel: the one that was chosen, or the only one. */
export const targetOf = (chosen: string | null, names: readonly string[]): string | null =>
  chosen ?? (names.length === 1 ? (names[0] ?? null) : null);

/** What fits the commands that make the rows; null: a search for events. */
export function kindOf(reportSearch: string | null): string {
  if (reportSearch === null) return 'event';
  if (/(^|\|)\s*timechart\b/i.test(reportSearch)) return 'line';
  if (/(^|\|)\s*chart\b/i.test(reportSearch)) return 'column';
  return 'table';
}

/** Which custom visualizations are drawn, by the names that their apps give them. */

export type CustomKind =
  | 'sankey'
  | 'network'
  | 'treemap'
  | 'sunburst'
  | 'punchcard'
  | 'heatmap'
  | 'calendar'
  | 'timeline'
  | 'meter'
  | 'status'
  | 'parallel';

/** By the part behind the name of the app, which others carry in collections of their own. */
const KINDS: Record<string, CustomKind> = {
  sankey_diagram: 'sankey',
  dataflect_sankey: 'sankey',
  force_directed: 'network',
  'network-diagram-viz': 'network',
  treemap: 'treemap',
  sunburst_viz: 'sunburst',
  punchcard: 'punchcard',
  heatmapviz: 'heatmap',
  'heat-map-viz': 'heatmap',
  calendar_heatmap: 'calendar',
  timeline: 'timeline',
  'event-timeline-viz': 'timeline',
  horseshoe_meter: 'meter',
  status_indicator: 'status',
  parallel_coordinates: 'parallel',
};

/** `sankey_diagram_app.sankey_diagram`: a sankey diagram; null for what is not drawn. */
export function customKind(type: string): CustomKind | null {
  const name = type.trim().toLowerCase().split('.').at(-1) ?? '';
  return Object.hasOwn(KINDS, name) ? (KINDS[name] ?? null) : null;
}

export const KIND_WORDS: Record<CustomKind, string> = {
  sankey: 'Sankey diagram',
  network: 'Network diagram',
  treemap: 'Treemap',
  sunburst: 'Sunburst',
  punchcard: 'Punchcard',
  heatmap: 'Heat map',
  calendar: 'Calendar heat map',
  timeline: 'Timeline',
  meter: 'Meter',
  status: 'Status indicator',
  parallel: 'Parallel coordinates',
};

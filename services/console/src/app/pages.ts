/** The pages of the areas data, monitor and settings by their titles: for their tabs and the palette. */

import {
  DATA_KINDS,
  type DataKind,
  MONITOR_PAGES,
  type MonitorPageName,
  paths,
  SETTINGS_KINDS,
  type SettingsKind,
} from './routing';

export const DATA_TITLES: Record<DataKind, string> = {
  add: 'Add data',
  indexes: 'Indexes',
  inputs: 'Inputs',
  tokens: 'HEC tokens',
  sourcetypes: 'Source types',
  deployment: 'Deployment server',
};

export const SETTINGS_TITLES: Record<SettingsKind, string> = {
  users: 'Users',
  roles: 'Roles',
  tokens: 'API tokens',
  apps: 'Apps',
  lookups: 'Lookup files',
  'lookup-definitions': 'Lookups',
  'automatic-lookups': 'Automatic lookups',
  macros: 'Macros',
  eventtypes: 'Event types',
  tags: 'Tags',
  extractions: 'Extractions',
  'field-transforms': 'Field transforms',
  'field-aliases': 'Field aliases',
  'calculated-fields': 'Calculated fields',
  'sourcetype-renames': 'Source type renames',
  'data-models': 'Data models',
  conf: 'Configuration',
};

export const MONITOR_TITLES: Record<MonitorPageName, string> = {
  performance: 'Performance',
  cost: 'Cost',
  cluster: 'Cluster',
  bundle: 'Configuration bundle',
};

export interface NamedPage {
  area: string;
  title: string;
  href: string;
}

export const NAMED_PAGES: readonly NamedPage[] = [
  ...DATA_KINDS.map((one) => ({ area: 'Data', title: DATA_TITLES[one], href: paths.data(one) })),
  ...MONITOR_PAGES.map((one) => ({
    area: 'Monitor',
    title: MONITOR_TITLES[one],
    href: paths.monitor(one),
  })),
  ...SETTINGS_KINDS.map((one) => ({
    area: 'Settings',
    title: SETTINGS_TITLES[one],
    href: paths.settings(one),
  })),
];

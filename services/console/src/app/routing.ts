/**
 * The addresses of the console's views. Paths are Splunk's where Splunk has one, so that links in mails and
 * dashboards go on to work; a locale in front (`/en-US/`) means nothing here.
 * Guarantees that everything below `Route` came out of the address alone. Leaves the state of a view, which
 * is in the query, to the view.
 */

import { navigate as go, usePathname, useSearch } from 'wouter/use-browser-location';
import { leave } from './leaving';

export type Route =
  | { view: 'home' }
  | { view: 'search'; app: string }
  | { view: 'reports'; app: string }
  | { view: 'dashboards'; app: string }
  | { view: 'dashboard'; app: string; name: string; edit: boolean }
  | { view: 'jobs' }
  | { view: 'inspect'; sid: string }
  | { view: 'monitor'; page: MonitorPageName }
  | { view: 'data'; kind: DataKind; name: string | null }
  | { view: 'settings'; kind: SettingsKind; name: string | null }
  | { view: 'moved'; to: string }
  | { view: 'unknown'; path: string };

export const DEFAULT_APP = 'search';

/** What an app is called, also for a user who may not list apps: of one app, everybody knows the label. */
export const appLabel = (apps: readonly { name: string; label: string }[], app: string): string =>
  apps.find((one) => one.name === app)?.label ?? (app === DEFAULT_APP ? 'Search & Reporting' : app);

/** Pages below `/data`, `/settings` and `/monitor`, in the order of their tabs. */
export const DATA_KINDS = [
  'add',
  'indexes',
  'inputs',
  'tokens',
  'sourcetypes',
  'deployment',
] as const;
export const SETTINGS_KINDS = [
  'users',
  'roles',
  'tokens',
  'apps',
  'lookups',
  'lookup-definitions',
  'automatic-lookups',
  'macros',
  'eventtypes',
  'tags',
  'extractions',
  'field-transforms',
  'field-aliases',
  'calculated-fields',
  'sourcetype-renames',
  'data-models',
  'conf',
] as const;
export const MONITOR_PAGES = ['performance', 'cost', 'cluster', 'bundle'] as const;
export type DataKind = (typeof DATA_KINDS)[number];
export type SettingsKind = (typeof SETTINGS_KINDS)[number];
export type MonitorPageName = (typeof MONITOR_PAGES)[number];

const part = encodeURIComponent;

/** Writes addresses; `parsePath` reads them. */
export const paths = {
  home: () => '/',
  search: (app: string) => `/app/${part(app)}/search`,
  reports: (app: string) => `/app/${part(app)}/reports`,
  dashboards: (app: string) => `/app/${part(app)}/dashboards`,
  dashboard: (app: string, name: string) => `/app/${part(app)}/${part(name)}`,
  /** The search page with a report in it. */
  report: (app: string, report: { owner: string; app: string; name: string }) => {
    const place = `${part(report.owner)}/${part(report.app)}`;
    const link = `/servicesNS/${place}/saved/searches/${part(report.name)}`;
    return `/app/${part(app)}/search?s=${part(link)}`;
  },
  jobs: () => '/jobs',
  inspect: (sid: string) => `/jobs/${part(sid)}/inspect`,
  cluster: () => '/monitor/cluster',
  monitor: (page: MonitorPageName) => `/monitor/${page}`,
  /** `name`: an object that is open, `_new` for one that is made. */
  data: (kind: DataKind, name?: string | null) => objectPath('data', kind, name),
  settings: (kind: SettingsKind, name?: string | null) => objectPath('settings', kind, name),
};

const objectPath = (area: string, kind: string, name?: string | null) =>
  name === undefined || name === null ? `/${area}/${kind}` : `/${area}/${kind}/${part(name)}`;

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}

const LOCALE = /^[a-z]{2}-[A-Z]{2}$/;
/** Pages of an app that are not names of dashboards; those without a view here are unknown. */
const RESERVED = new Set(['alerts', 'lookups', 'datasets', 'data_models', 'report', 'alert']);

/** Those with a view of their own. */
const PAGES = new Set(['search', 'flashtimeline', 'reports', 'dashboards', 'job_manager']);

const isName = (page: string) => !RESERVED.has(page) && !PAGES.has(page);

export function parsePath(pathname: string): Route {
  const segments = pathname.split('/').filter((segment) => segment !== '');
  if (LOCALE.test(segments[0] ?? '')) segments.shift();
  const [area, first, second, ...rest] = segments.map(decoded);
  const unknown: Route = { view: 'unknown', path: pathname };
  if (area === undefined) return { view: 'home' };
  if (area === 'app') return appRoute(first, second, rest) ?? unknown;
  if (rest.length > 0) return unknown;
  if (area === 'jobs') {
    if (first === undefined) return { view: 'jobs' };
    return second === 'inspect' ? { view: 'inspect', sid: first } : unknown;
  }
  if (area === 'monitor') {
    if (first === undefined) return { view: 'moved', to: paths.monitor(MONITOR_PAGES[0]) };
    if (second !== undefined) return unknown;
    const page = MONITOR_PAGES.find((known) => known === first);
    return page ? { view: 'monitor', page } : unknown;
  }
  if (area === 'data' || area === 'settings') {
    return objectRoute(area, first, second ?? null) ?? unknown;
  }
  // Where the page was before views had addresses.
  if (area === 'cluster' && first === undefined) return { view: 'moved', to: paths.cluster() };
  return unknown;
}

/** Names that people guess, or know from Splunk, of pages below `/data` and `/settings`. */
const OTHER_NAMES: Record<string, string> = {
  'lookup-files': paths.settings('lookups'),
  'lookup-table-files': paths.settings('lookups'),
  'lookup-tables': paths.settings('lookups'),
  lookup: paths.settings('lookups'),
  'lookup-defs': paths.settings('lookup-definitions'),
  'event-types': paths.settings('eventtypes'),
  'field-extractions': paths.settings('extractions'),
  fields: paths.settings('extractions'),
  fieldaliases: paths.settings('field-aliases'),
  calcfields: paths.settings('calculated-fields'),
  transforms: paths.settings('field-transforms'),
  datamodels: paths.settings('data-models'),
  'source-types': paths.data('sourcetypes'),
  sourcetypes: paths.data('sourcetypes'),
  hec: paths.data('tokens'),
  'hec-tokens': paths.data('tokens'),
  'http-event-collector': paths.data('tokens'),
  index: paths.data('indexes'),
  indexes: paths.data('indexes'),
  inputs: paths.data('inputs'),
  upload: paths.data('add'),
  forwarders: paths.data('deployment'),
  'deployment-server': paths.data('deployment'),
  user: paths.settings('users'),
  users: paths.settings('users'),
  role: paths.settings('roles'),
  roles: paths.settings('roles'),
  'api-tokens': paths.settings('tokens'),
  app: paths.settings('apps'),
  apps: paths.settings('apps'),
  configuration: paths.settings('conf'),
  config: paths.settings('conf'),
  macros: paths.settings('macros'),
  lookups: paths.settings('lookups'),
  eventtypes: paths.settings('eventtypes'),
  extractions: paths.settings('extractions'),
};

const movedTo = (kind: string, name: string | null): Route | null => {
  const to = Object.hasOwn(OTHER_NAMES, kind) ? OTHER_NAMES[kind] : undefined;
  return to === undefined || name !== null ? null : { view: 'moved', to };
};

function objectRoute(area: 'data' | 'settings', kind: string | undefined, name: string | null) {
  if (area === 'data') {
    if (kind === undefined) return { view: 'moved', to: paths.data('indexes') } as const;
    const known = DATA_KINDS.find((one) => one === kind);
    return known ? ({ view: 'data', kind: known, name } as const) : movedTo(kind, name);
  }
  if (kind === undefined) return { view: 'moved', to: paths.settings('users') } as const;
  const known = SETTINGS_KINDS.find((one) => one === kind);
  return known ? ({ view: 'settings', kind: known, name } as const) : movedTo(kind, name);
}

function appRoute(app: string | undefined, page: string | undefined, rest: string[]): Route | null {
  const isEdited = rest.length === 1 && rest[0] === 'edit';
  if (rest.length > 0 && !isEdited) return null;
  if (app === undefined) return { view: 'moved', to: paths.search(DEFAULT_APP) };
  // The start page of Splunk.
  if (app === 'launcher' && (page === undefined || page === 'home')) {
    return { view: 'moved', to: paths.home() };
  }
  if (page === undefined) return { view: 'moved', to: paths.search(app) };
  if (isEdited && (page === undefined || !isName(page))) return null;
  if (page === 'search' || page === 'flashtimeline') return { view: 'search', app };
  if (page === 'reports') return { view: 'reports', app };
  if (page === 'dashboards') return { view: 'dashboards', app };
  if (page === 'job_manager') return { view: 'moved', to: paths.jobs() };
  if (!isName(page)) return null;
  return { view: 'dashboard', app, name: page, edit: rest.length > 0 };
}

/** The app of an address that is not among all apps; null if there is none, or if the apps are not known. */
export function unknownApp(
  route: Route,
  all: readonly { name: string }[] | undefined,
): string | null {
  if (!all || !('app' in route) || all.some(({ name }) => name === route.app)) return null;
  return route.app;
}

/** The view of the address, again whenever the address changes. */
export function useRoute(): Route {
  const route = parsePath(usePathname());
  // Where searches were before views had addresses.
  const isSearch = new URLSearchParams(useSearch()).has('q');
  return route.view === 'home' && isSearch
    ? { view: 'moved', to: paths.search(DEFAULT_APP) }
    : route;
}

/** The query of the address, with its `?`; empty without one. */
export function useQuery(): string {
  const query = useSearch();
  return query === '' || query.startsWith('?') ? query : `?${query}`;
}

/** `path` with those parameters that have a value. */
export function addressOf(path: string, parameters: Record<string, string | undefined>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined) query.set(name, value);
  }
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}

/**
 * Goes to an address of this page; `replace`: back does not lead to the one of now. A view with unsaved changes asks
 * before another path is shown.
 */
export function navigate(to: string, options: { replace?: boolean } = {}): void {
  const { href, pathname } = window.location;
  if (new URL(to, href).pathname === pathname) go(to, options);
  else leave(() => go(to, options));
}

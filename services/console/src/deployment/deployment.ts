/** What a deployment server knows: its configuration, server classes, apps, and the forwarders that phone home. */

import { asObject } from '../api/decode';
import type { Entry } from '../api/types';

export const DEPLOYMENT = '/services/deployment/server';

export interface ServerState {
  /** Whether the directory of configuration has server classes. */
  isOn: boolean;
  /** Why the last read was refused; empty if it was not. */
  error: string;
  /** What of the files has no effect. */
  messages: string[];
  /** Seconds; null if nothing was read. */
  loaded: number | null;
  downloads: number;
  maxDownloads: number;
  repositories: string[];
}

export interface DeployedApp {
  name: string;
  /** `Install`, `Uninstall` or `Noop`. */
  action: string;
  state: 'installed' | 'pending' | 'failed' | 'missing';
  reason: string;
  checksum: string;
  installedChecksum: string;
  classes: string[];
}

export interface Forwarder {
  guid: string;
  /** Where it is removed. */
  path: string;
  name: string;
  host: string;
  ip: string;
  machine: string;
  version: string;
  /** Seconds since the epoch. */
  lastCall: number;
  /** Seconds between calls; null after the first one. */
  interval: number | null;
  classes: string[];
  apps: DeployedApp[];
}

export interface ServerClass {
  name: string;
  forwarders: number;
  whitelist: string[];
  blacklist: string[];
  filterType: string;
  machines: string;
  /** Whether later classes are looked at for its forwarders. */
  continues: boolean;
  apps: { name: string; restarts: boolean; state: string }[];
}

export interface RepositoryApp {
  name: string;
  checksum: string;
  files: number;
  size: number;
  classes: string[];
  /** Forwarders that have it, and those on which it failed. */
  installed: number;
  failed: number;
  /** Why it is not handed out; empty if it is. */
  reason: string;
}

const text = (value: unknown): string =>
  value === null || value === undefined ? '' : String(value);
const count = (value: unknown): number => Number(value ?? 0) || 0;
const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(text) : []);

export function decodeState(entries: Entry[]): ServerState {
  const content = entries[0]?.content ?? {};
  return {
    isOn: entries.length > 0 && content.disabled !== true,
    error: text(content.error),
    messages: texts(content.messages),
    loaded: typeof content.loadTime === 'number' ? content.loadTime : null,
    downloads: count(content.currentDownloads),
    maxDownloads: count(content.maxConcurrentDownloads),
    repositories: texts(content.repositoryLocation),
  };
}

function decodeDeployed(name: string, value: unknown): DeployedApp {
  const app = asObject(value);
  const result = text(app.result);
  const checksum = text(app.checksum);
  const action = text(app.action);
  // An app without a checksum is one that the server cannot hand out.
  const isMissing = checksum === '' && action !== 'Uninstall' && result !== 'Fail';
  return {
    name,
    action,
    state:
      result === 'Fail'
        ? 'failed'
        : result === 'Pending'
          ? 'pending'
          : isMissing
            ? 'missing'
            : 'installed',
    reason: text(app.failedReason),
    checksum,
    installedChecksum: text(app.installedChecksum),
    classes: texts(app.serverclasses),
  };
}

export function decodeForwarder({ content, name, path }: Entry): Forwarder {
  const interval = content.averagePhoneHomeInterval;
  return {
    guid: name,
    path,
    name: text(content.clientName) || text(content.hostname) || name,
    host: text(content.hostname),
    ip: text(content.ip),
    machine: text(content.utsname),
    version: text(content.build),
    lastCall: count(content.lastPhoneHomeTime),
    interval: typeof interval === 'number' ? interval : null,
    classes: Object.keys(asObject(content.serverClasses)),
    apps: Object.entries(asObject(content.applications)).map(([app, value]) =>
      decodeDeployed(app, value),
    ),
  };
}

/** `whitelist.0`, `whitelist.1` ... in their order. */
function patterns(content: Record<string, unknown>, list: string): string[] {
  const numbered = Object.entries(content).flatMap(([key, value]) => {
    const number = new RegExp(`^${list}\\.(\\d+)$`).exec(key)?.[1];
    return number === undefined ? [] : [[Number(number), text(value)] as const];
  });
  return numbered.sort(([a], [b]) => a - b).map(([, pattern]) => pattern);
}

export function decodeClass({ content, name }: Entry): ServerClass {
  return {
    name,
    forwarders: count(content.clients),
    whitelist: patterns(content, 'whitelist'),
    blacklist: patterns(content, 'blacklist'),
    filterType: text(content.filterType),
    machines: text(content.machineTypesFilter),
    continues: content.continueMatching !== false,
    apps: Object.entries(asObject(content.applications)).map(([app, value]) => {
      const settings = asObject(value);
      return {
        name: app,
        restarts: settings.restartSplunkd === true,
        state: text(settings.stateOnClient),
      };
    }),
  };
}

export function decodeApp({ content, name }: Entry): RepositoryApp {
  return {
    name,
    checksum: text(content.checksum),
    files: count(content.files),
    size: count(content.size),
    classes: texts(content.serverclasses),
    installed: count(content.clients),
    failed: count(content.failedClients),
    reason: text(content.failedReason),
  };
}

/** A forwarder calls once a minute by default; after three calls that did not come it is silent. */
const EXPECTED = 60;
const MISSED = 3;

export const isSilent = ({ lastCall, interval }: Forwarder, now: number): boolean =>
  now - lastCall > MISSED * Math.max(EXPECTED, interval ?? EXPECTED);

export const hasError = ({ apps }: Forwarder): boolean =>
  apps.some(({ state }) => state === 'failed');

/** `12 s ago`, `3 min ago`, `2 h ago`, `5 days ago`. */
export function ago(seconds: number): string {
  if (seconds < 1) return 'now';
  if (seconds < 120) return `${Math.round(seconds)} s ago`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min ago`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h ago`;
  return `${Math.round(seconds / 86_400)} days ago`;
}

/** `2 of 3 installed, 1 failed`. */
export function appsText({ apps }: Forwarder): string {
  if (apps.length === 0) return 'none';
  const number = (state: DeployedApp['state']) => apps.filter((app) => app.state === state).length;
  const parts = [`${number('installed')} of ${apps.length} installed`];
  for (const [state, word] of [
    ['pending', 'pending'],
    ['failed', 'failed'],
    ['missing', 'not distributed'],
  ] as const) {
    if (number(state) > 0) parts.push(`${number(state)} ${word}`);
  }
  return parts.join(', ');
}

/** Checksums are compared by eye by their beginnings. */
export const shortChecksum = (checksum: string): string => checksum.slice(0, 12);

export interface ForwarderFilter {
  text: string;
  serverClass: string;
  isOnlyWrong: boolean;
}

/** Wrong is a forwarder with a failed app, or one that is silent. */
export function matchingForwarders(
  forwarders: readonly Forwarder[],
  filter: ForwarderFilter,
  now: number,
): Forwarder[] {
  const wanted = filter.text.trim().toLowerCase();
  return forwarders.filter((forwarder) => {
    if (filter.serverClass !== '' && !forwarder.classes.includes(filter.serverClass)) return false;
    if (filter.isOnlyWrong && !hasError(forwarder) && !isSilent(forwarder, now)) return false;
    const { name, host, ip, machine, version, guid, classes, apps } = forwarder;
    const all = [
      name,
      host,
      ip,
      machine,
      version,
      guid,
      ...classes,
      ...apps.map((app) => app.name),
    ];
    return all.join(' ').toLowerCase().includes(wanted);
  });
}

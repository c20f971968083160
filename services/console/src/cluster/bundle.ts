/**
 * The configuration bundle as the server shows, validates, applies and rolls it back: requests, answers, and the
 * words for both. Guarantees that a plan is the server's dry run, never a guess of the page.
 */

import type { ApiError, KarstClient } from '../api/client';
import { asObject, decodeEntries } from '../api/decode';
import { explainError } from '../api/explain';
import type { Peer } from '../api/types';
import { plural } from '../app/format';
import { answers } from './peers';
import { labelOf } from './rollingRestart';

const INFO = '/services/cluster/manager/info';
const CONTROL = '/services/cluster/manager/control/default';

export interface Bundle {
  /** The checksum of its apps. */
  checksum: string;
  apps: string[];
  by: string;
  /** In epoch seconds; null for what was installed before the first bundle. */
  applied: number | null;
}

export interface BundleState {
  active: Bundle | null;
  /** What a rollback restores. */
  previous: Bundle | null;
  /** The checksum of all installed apps in the catalog, those of the bundle among them. */
  latest: string;
  /** None without a cluster. */
  peers: Peer[];
}

export interface Change {
  app: string;
  added: string[];
  changed: string[];
  removed: string[];
}

/** What a dry run found. */
export interface Plan {
  apps: string[];
  changes: Change[];
  ignored: string[];
  breaks: string[];
  warnings: string[];
  notUsed: string[];
}

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const texts = (value: unknown): string[] => list(value).map(String);

export function decodeBundle(value: unknown): Bundle | null {
  if (value === null || value === undefined) return null;
  const { checksum, apps, by, timestamp } = asObject(value);
  const applied = Number(timestamp ?? 0);
  return {
    checksum: String(checksum ?? ''),
    apps: texts(apps),
    by: String(by ?? ''),
    applied: applied > 0 ? applied : null,
  };
}

export async function bundleState(client: KarstClient, signal?: AbortSignal): Promise<BundleState> {
  const [[info], peers] = await Promise.all([client.entries(INFO, signal), client.peers(signal)]);
  const content = info?.content ?? {};
  return {
    active: decodeBundle(content.active_bundle),
    previous: decodeBundle(content.previous_active_bundle),
    latest: String(asObject(content.latest_bundle).checksum ?? ''),
    peers,
  };
}

export function decodePlan(content: Record<string, unknown>): Plan {
  const changes = list(content.changes).map((value) => {
    const { app, added, changed, removed } = asObject(value);
    return {
      app: String(app ?? ''),
      added: texts(added),
      changed: texts(changed),
      removed: texts(removed),
    };
  });
  const notUsed = list(content.not_used).map((value) => {
    const { app, place, text } = asObject(value);
    return `${app}/${place}: ${text}`;
  });
  return {
    apps: texts(content.apps),
    changes,
    ignored: texts(content.ignored),
    breaks: texts(content.breaks),
    warnings: texts(content.warnings),
    notUsed,
  };
}

/** What an archive of apps would change. */
export async function validateBundle(
  client: KarstClient,
  archive: Blob,
  signal?: AbortSignal,
): Promise<Plan> {
  const body = await client.sendBody(`${CONTROL}/validate_bundle`, archive, {}, signal);
  return decodePlan(decodeEntries(body)[0]?.content ?? {});
}

/** `isForced`: despite settings that are ignored. */
export const applyBundle = (client: KarstClient, archive: Blob, isForced: boolean) =>
  client.sendBody(`${CONTROL}/apply`, archive, isForced ? { force: '1' } : {});

export async function planRollback(client: KarstClient): Promise<Plan> {
  const [entry] = await client.change(`${CONTROL}/rollback`, { dry_run: '1' });
  return decodePlan(entry?.content ?? {});
}

export const rollBack = (client: KarstClient) => client.change(`${CONTROL}/rollback`);

/** What distinguishes the active bundle from every other one: the same apps may be applied again. */
export const identityOf = (bundle: Bundle | null): string =>
  bundle === null ? '' : `${bundle.checksum} ${bundle.applied}`;

/** The characters of a checksum that are shown. */
export const shortOf = (checksum: string): string => checksum.slice(0, 12);

export const appsText = (apps: readonly string[]): string => apps.join(', ') || 'no apps';

/** Whether a process works by the apps of the catalog (`same`); `away`: it does not answer. */
export type Version = 'same' | 'other' | 'away';

export function versionOf(peer: Peer, latest: string): Version {
  if (!answers(peer)) return 'away';
  return peer.appsChecksum === latest ? 'same' : 'other';
}

const named = (peers: readonly Peer[], some: readonly Peer[]): string =>
  some.map((peer) => labelOf(peers, peer)).join(', ');

/** One sentence about which processes use the latest apps, with the names of the others. */
export function usageText({ peers, latest }: Pick<BundleState, 'peers' | 'latest'>): string {
  const of = (version: Version) => peers.filter((peer) => versionOf(peer, latest) === version);
  const [same, other, away] = [of('same'), of('other'), of('away')];
  const parts = [
    `${same.length} of ${plural(peers.length, 'process')} ${same.length === 1 ? 'uses' : 'use'} the latest apps`,
  ];
  if (other.length > 0) parts.push(`other apps in ${named(peers, other)}`);
  if (away.length > 0) parts.push(`no answer from ${named(peers, away)}`);
  return parts.join('; ');
}

/** Whether a process that answers does not use the latest apps yet. */
export const isArriving = ({ peers, latest }: Pick<BundleState, 'peers' | 'latest'>): boolean =>
  peers.some((peer) => versionOf(peer, latest) === 'other');

export type Findings = 'ignored' | 'breaks' | 'warnings' | 'notUsed';

/** The findings of a dry run, with what each kind means. */
export const FINDINGS: readonly { kind: Findings; title: string; isMistake: boolean }[] = [
  { kind: 'ignored', title: 'Invalid, would be ignored', isMistake: true },
  { kind: 'breaks', title: 'Would become invalid in other apps', isMistake: true },
  { kind: 'warnings', title: 'Searches that use it would fail', isMistake: false },
  { kind: 'notUsed', title: 'Has no effect in Karst', isMistake: false },
];

/** Whether the server applies it only by force. */
export const needsForce = (plan: Plan): boolean =>
  FINDINGS.some(({ kind, isMistake }) => isMistake && plan[kind].length > 0);

export interface ChangedFile {
  word: 'added' | 'changed' | 'removed';
  /** With its app in front. */
  file: string;
}

export const filesOf = (plan: Plan): ChangedFile[] =>
  plan.changes.flatMap((change) =>
    (['added', 'changed', 'removed'] as const).flatMap((word) =>
      change[word].map((path) => ({ word, file: `${change.app}/${path}` })),
    ),
  );

/** One sentence about what a plan changes. */
export function changesText(plan: Plan): string {
  const files = filesOf(plan);
  if (files.length === 0) return 'No file is changed.';
  const count = (word: ChangedFile['word']) => files.filter((one) => one.word === word).length;
  return `${plural(files.length, 'file')} of ${plural(plan.changes.length, 'app')}: ${count('added')} added, ${count('changed')} changed, ${count('removed')} removed.`;
}

/** Directories of which an app has at least one. */
const PARTS = ['default', 'local', 'lookups', 'metadata'];

/** The name of the directory of apps, if an archive has it around them: it would be the only app. */
export function wrappedIn(plan: Plan): string | null {
  const [change] = plan.changes.filter(({ app }) => app === plan.apps[0]);
  if (plan.apps.length !== 1 || !change) return null;
  if (change.changed.length > 0 || change.removed.length > 0) return null;
  const hasPart = (at: number) =>
    change.added.some((path) => PARTS.includes(path.split('/')[at] ?? ''));
  return hasPart(1) && !hasPart(0) ? change.app : null;
}

/** What is chosen to go on despite mistakes. */
export const FORCE = {
  apply: 'Apply it anyway: the invalid settings are ignored',
  rollback: 'Roll back anyway: the invalid settings are ignored',
};

/** Why the server refuses an archive, in the words of the dialog instead of those of the command. */
const inDialog = (text: string): string =>
  text.replace('with --force (force=1 over REST)', 'by the checkbox');

/** Why a dry run or a change failed, and what helps. */
export function failureText(error: ApiError, isDry: boolean): string {
  const text = inDialog(error.message);
  // The server says what helps: another bundle is being applied, or something is wrong in this one.
  if (error.kind === 'conflict' || error.kind === 'rejected') return text;
  if (error.kind === 'tooLarge') {
    return `${text}\nUse karst cluster bundle, which sends only the files that differ.`;
  }
  if (error.kind === 'unreachable' && !isDry) {
    return `${text}\nThe change may be in effect: compare the active bundle on the page.`;
  }
  return `${text}\n${explainError(error).advice}`.trim();
}

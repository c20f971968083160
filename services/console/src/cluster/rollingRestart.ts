/**
 * Rolling restarts as the server plans, runs and reports them: requests, answers, and the words for both.
 * Guarantees that a plan comes from a dry run of the server, never from the list of processes on the page.
 */

import type { KarstClient } from '../api/client';
import { asObject } from '../api/decode';
import type { Peer } from '../api/types';
import { answers } from './peers';

export const STATUS_PATH = '/services/cluster/manager/status';
const CONTROL = '/services/cluster/manager/control/control';

/** Roles that restart one after the other; control planes are restarted one by one by hand. */
export const RESTARTED_ROLES = ['indexer', 'search-head'] as const;
export type RestartedRole = (typeof RESTARTED_ROLES)[number];

export interface RestartRequest {
  role: RestartedRole;
  /** Percent of the processes that may be away at a time; null for `percent_peers_to_restart`. */
  percent: number | null;
  /** Whether it starts although a process does not answer, or there is only one to restart. */
  isForced: boolean;
}

/** How far a rolling restart is; processes by their IDs. */
export interface Progress {
  waiting: string[];
  restarting: string[];
  back: string[];
  /** Why it stopped before its end. */
  stopped: string | null;
}

export interface RestartState extends Progress {
  isRunning: boolean;
}

/** What the server says of operations that are under way. */
export interface ClusterState {
  restart: RestartState;
  /** Indexers that are taken out, as the server lists them. */
  leaving: unknown;
  /** Whether the cluster is in maintenance mode. */
  isMaintained: boolean;
}

const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);

export function decodeProgress(value: unknown): Progress {
  const progress = asObject(value);
  const stopped = progress.failed;
  return {
    waiting: texts(progress.to_be_restarted),
    restarting: texts(progress.in_progress),
    back: texts(progress.done),
    stopped: typeof stopped === 'string' && stopped !== '' ? stopped : null,
  };
}

export async function clusterState(
  client: KarstClient,
  signal?: AbortSignal,
): Promise<ClusterState> {
  const [entry] = await client.entries(STATUS_PATH, signal);
  const content = entry?.content ?? {};
  const isRunning = content.rolling_restart_flag === true;
  return {
    restart: { ...decodeProgress(content.restart_progress), isRunning },
    leaving: content.decommission,
    isMaintained: content.maintenance_mode === true,
  };
}

export function formOf(request: RestartRequest, isDry: boolean): Record<string, string> {
  const form: Record<string, string> = { role: request.role };
  if (request.percent !== null) form.percent_peers_to_restart = String(request.percent);
  if (request.isForced) form.force = '1';
  if (isDry) form.dry_run = '1';
  return form;
}

/** The IDs of the processes that are, or with `isDry` would be, restarted, in this order. */
export async function requestRestart(
  client: KarstClient,
  request: RestartRequest,
  isDry: boolean,
): Promise<string[]> {
  const [entry] = await client.change(`${CONTROL}/restart`, formOf(request, isDry));
  return decodeProgress(entry?.content.restart_progress).waiting;
}

export const cancelRestart = (client: KarstClient) => client.change(`${CONTROL}/cancel_restart`);

/** Whoever calls it has shown `lossOf`. */
export const removePeer = (client: KarstClient, id: string) =>
  client.change(`${CONTROL}/remove_peers`, { peers: id, force: '1' });

/** The server's default of `percent_peers_to_restart`. */
export const DEFAULT_PERCENT = 10;

/** How many of them may be away at a time: as the server counts, rounded down, and one at least. */
export const atATime = (processes: number, percent: number): number =>
  Math.max(1, Math.floor((processes * percent) / 100));

/**
 * The order cut into waves. The server does not wait for a whole wave: the next process follows each that
 * is back.
 */
export function wavesOf(order: string[], percent: number): string[][] {
  const size = atATime(order.length, percent);
  const waves: string[][] = [];
  for (let at = 0; at < order.length; at += size) waves.push(order.slice(at, at + size));
  return waves;
}

/** A percentage as it is typed: null for none, undefined for something else. */
export function percentOf(text: string): number | null | undefined {
  if (text.trim() === '') return null;
  const percent = Number(text);
  return Number.isInteger(percent) && percent >= 1 && percent <= 100 ? percent : undefined;
}

const isAlone = (peers: readonly Peer[], peer: Peer): boolean =>
  peers.every((other) => other.id === peer.id || other.name !== peer.name);

/** The name of a process, with its address where another one has the same name. */
export const labelOf = (peers: readonly Peer[], peer: Peer): string =>
  isAlone(peers, peer) ? peer.name : `${peer.name} (${peer.address})`;

/** The same by an ID; the ID itself once the process has left. */
export function nameOf(peers: readonly Peer[], id: string): string {
  const peer = peers.find((one) => one.id === id);
  return peer ? labelOf(peers, peer) : id;
}

/** What the server says of processes by their IDs, with their labels. */
export const labelled = (text: string, peers: readonly Peer[]): string =>
  peers.reduce((so, peer) => {
    const label = labelOf(peers, peer);
    return so.replaceAll(`${peer.name} (${peer.id})`, label).replaceAll(peer.id, label);
  }, text);

/** What is chosen in the dialog to start in spite of a refusal. */
export const FORCE =
  'Restart even if a process does not answer or is the only one, or if searches are affected';

/** Why the server refuses a restart, in the words of the dialog instead of those of REST. */
export const refusalText = (text: string, peers: readonly Peer[]): string =>
  labelled(text, peers).replaceAll('force=1', 'the checkbox "Restart even if …"');

/** What is typed to confirm the removal of a process: what no other one has. */
export const confirmationOf = (peers: readonly Peer[], peer: Peer): string =>
  isAlone(peers, peer) ? peer.name : peer.address;

/** Processes that keep a restart from going on, even a forced one: nothing restarts while one is away. */
export const awayOf = (peers: readonly Peer[], restarting: readonly string[] = []): Peer[] =>
  peers.filter((peer) => !answers(peer) && !restarting.includes(peer.id));

/** One sentence about a restart that runs, or the last one; null where there was none. */
export function progressText(state: RestartState): string | null {
  const all = state.waiting.length + state.restarting.length + state.back.length;
  if (all === 0) return null;
  const back = `${state.back.length} of ${all} ${all === 1 ? 'process is' : 'processes are'} back`;
  if (state.isRunning) return back;
  if (state.stopped !== null) {
    return `The last rolling restart stopped, ${back}: ${state.stopped}`;
  }
  return `The last rolling restart has finished: ${back}`;
}

/** What the removal of a process that does not answer gives up. */
export function lossOf(peer: Peer): string[] {
  const losses: string[] = [];
  if (peer.roles.includes('indexer') && peer.hasLocalAcks) {
    losses.push(
      'Events that are only on its disk (ackLevel = local, or all copies lost) are given up: searches no longer report them as missing. They return if the process restarts with its disk.',
      'Events acknowledged with ackLevel = remote stay: another indexer recovers them.',
    );
  } else if (peer.roles.includes('indexer')) {
    losses.push(
      'All its indexes acknowledge with ackLevel = remote: another indexer recovers what it acknowledged, after which the process leaves the list by itself. Nothing that it acknowledged is lost.',
    );
  }
  if (peer.roles.includes('indexer')) {
    losses.push(
      'Copies of the journals of other indexers on its disk are given up (ackLevel = replicated): if one of these does not answer either, events that it acknowledged may be lost.',
    );
  }
  if (peer.roles.includes('search-head')) {
    losses.push('Its search jobs and their results are already lost.');
  }
  losses.push(
    'Events of its own log and metrics that are not in object storage are given up.',
    'Buckets in object storage, users, indexes and settings are not touched.',
  );
  return losses;
}

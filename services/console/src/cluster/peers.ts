/** What the cluster page says of a process. */

import type { Peer } from '../api/types';

export interface PeerRow extends Peer {
  /** Writes of the catalog that the process lacks; `null` where that is unknown. */
  behind: number | null;
  leads: boolean;
}

const ORDER = ['control-plane', 'indexer', 'search-head'];

function place(peer: Peer): number {
  const places = peer.roles.map((role) => ORDER.indexOf(role)).filter((at) => at >= 0);
  return Math.min(ORDER.length, ...places);
}

/** Whether it answers: one that is taken out does until it stops. */
export const answers = (peer: Peer): boolean =>
  peer.status === 'Up' || peer.status === 'Decommissioning';

/** The status of a process that is away as it is being restarted, and not in the server's list. */
export const RESTARTING = 'Restarting';

/** The processes, with those that are not listed while they restart, as they were seen before. */
export function withRestarting(
  peers: readonly Peer[],
  known: ReadonlyMap<string, Peer>,
  restarting: readonly string[],
): Peer[] {
  const missing = restarting.flatMap((id) => {
    const seen = peers.every((peer) => peer.id !== id) && known.get(id);
    return seen ? [{ ...seen, status: RESTARTING, reason: '', write: null }] : [];
  });
  return [...peers, ...missing];
}

/** Whether the cluster works without it: the only control plane is started again instead. */
export const mayBeRemoved = (peers: readonly Peer[], peer: Peer): boolean =>
  peer.status === 'Down' &&
  (!peer.roles.includes('control-plane') ||
    peers.some((other) => other.id !== peer.id && other.roles.includes('control-plane')));

/** Whether somebody has said where processes are. */
export const hasSites = (peers: readonly Peer[]): boolean =>
  peers.some((peer) => peer.site !== 'default');

/** Whether processes that answer work by different installed apps, as for a moment after every change. */
export function haveOtherApps(peers: readonly Peer[]): boolean {
  const checksums = peers.filter(answers).map((peer) => peer.appsChecksum);
  // A process of an older version does not say it.
  return new Set(checksums.filter((checksum) => checksum !== '')).size > 1;
}

/** Control planes first, the one that leads before all. */
export function rowsOf(peers: Peer[]): PeerRow[] {
  const writes = peers.map((peer) => peer.write ?? 0);
  const newest = Math.max(0, ...writes);
  const rows = peers.map((peer) => ({
    ...peer,
    behind: peer.write === null ? null : newest - peer.write,
    // One that does not answer leads nothing: the catalog still has its name.
    leads: peer.leadsSince !== '' && answers(peer),
  }));
  return rows.sort(
    (a, b) =>
      Number(b.leads) - Number(a.leads) ||
      place(a) - place(b) ||
      a.name.localeCompare(b.name) ||
      a.address.localeCompare(b.address),
  );
}

/** One sentence about all of them. */
export function summaryOf(rows: PeerRow[]): string {
  const restarting = rows.filter((row) => row.status === RESTARTING).length;
  const down = rows.filter((row) => !answers(row)).length - restarting;
  const processes = `${rows.length} ${rows.length === 1 ? 'process' : 'processes'}`;
  const parts: string[] = [];
  if (restarting > 0)
    parts.push(`${restarting} of them ${restarting === 1 ? 'restarts' : 'restart'}`);
  if (down > 0) parts.push(`${down} of them ${down === 1 ? 'does' : 'do'} not answer`);
  return [processes, ...(parts.length > 0 ? parts : ['all of them answer'])].join(', ');
}

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

/** Whether somebody has said where processes are. */
export const hasSites = (peers: readonly Peer[]): boolean =>
  peers.some((peer) => peer.site !== 'default');

/** Control planes first, the one that leads before all. */
export function rowsOf(peers: Peer[]): PeerRow[] {
  const writes = peers.map((peer) => peer.write ?? 0);
  const newest = Math.max(0, ...writes);
  const rows = peers.map((peer) => ({
    ...peer,
    behind: peer.write === null ? null : newest - peer.write,
    leads: peer.leadsSince !== '',
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
  const down = rows.filter((row) => !answers(row));
  const processes = `${rows.length} ${rows.length === 1 ? 'process' : 'processes'}`;
  if (down.length === 0) return `${processes}, all of them answer`;
  return `${processes}, ${down.length} of them ${down.length === 1 ? 'does' : 'do'} not answer`;
}

/**
 * Indexers that are taken out of the cluster, as the server plans and reports it. Whether one may go is what a
 * dry run of the server says.
 */

import type { KarstClient } from '../api/client';
import { asObject } from '../api/decode';
import type { Peer } from '../api/types';
import { answers } from './peers';
import { nameOf } from './rollingRestart';

const DECOMMISSION = '/services/cluster/peer/control/control/decommission';

/** An indexer that is being taken out. */
export interface Leaving {
  id: string;
  /** Events and buckets that are not in object storage. */
  events: number;
  uploads: number;
  /** Indexers with copies of their journals there. */
  copiesOf: string[];
  /** Lost indexers whose events are being recovered there. */
  recovering: string[];
  /** Whether it stops, or has stopped: it is too late to keep it. */
  stops: boolean;
  /** Whether it does not answer any more, and is in the list. */
  isStopped: boolean;
}

const texts = (value: unknown): string[] => (Array.isArray(value) ? value.map(String) : []);
const count = (value: unknown): number => (typeof value === 'number' ? value : 0);

export function decodeLeaving(value: unknown): Leaving[] {
  if (!Array.isArray(value)) return [];
  return value.map((one) => {
    const content = asObject(one);
    const status = String(content.status ?? '');
    return {
      id: String(content.peer ?? ''),
      events: count(content.events),
      uploads: count(content.uploads),
      copiesOf: texts(content.copies_of),
      recovering: texts(content.recovering),
      stops: status === 'ShuttingDown' || status === 'Stopped',
      isStopped: status === 'Stopped',
    };
  });
}

/** What the server says of taking an indexer out. */
export interface OfflinePlan {
  /** Indexers that stay. */
  left: number;
  /** Why it is refused unless it is forced; null if it is not. */
  objection: string | null;
}

export async function planOffline(client: KarstClient, id: string): Promise<OfflinePlan> {
  const [entry] = await client.change(DECOMMISSION, { peer: id, dry_run: '1' });
  const objection = entry?.content.objection;
  return {
    left: count(entry?.content.indexers_left),
    objection: typeof objection === 'string' && objection !== '' ? objection : null,
  };
}

export const takeOut = (client: KarstClient, id: string, isForced: boolean) =>
  client.change(DECOMMISSION, isForced ? { peer: id, force: '1' } : { peer: id });

export const keep = (client: KarstClient, id: string) =>
  client.change(DECOMMISSION, { peer: id, cancel: '1' });

/** Whether an indexer may be asked to leave. */
export const mayLeave = (peer: Peer): boolean =>
  peer.roles.includes('indexer') && answers(peer) && peer.status !== 'Decommissioning';

/** One sentence about an indexer that leaves. */
export function leavingText(peers: readonly Peer[], leaving: Leaving): string {
  const name = nameOf(peers, leaving.id);
  if (leaving.isStopped) {
    return `${name} has stopped and is still in the list: its log says what is not in object storage. Start it again.`;
  }
  if (leaving.stops) return `${name} stops and leaves the cluster`;
  const left: string[] = [];
  if (leaving.events > 0) left.push(`${leaving.events} events that are not in object storage`);
  else if (leaving.uploads > 0) left.push(`${leaving.uploads} buckets that are being uploaded`);
  if (leaving.copiesOf.length > 0)
    left.push(`copies of journals of ${leaving.copiesOf.join(', ')}`);
  if (leaving.recovering.length > 0) left.push(`events of ${leaving.recovering.join(', ')}`);
  if (left.length === 0) return `${name} is taken out of the cluster`;
  return `${name} is taken out of the cluster, and still has ${left.join('; ')}`;
}

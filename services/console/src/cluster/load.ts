/**
 * What processes do, beside whether they answer: load, queues, cache and uploads by their own events, and what the
 * server says of copies and of the events of lost indexers.
 */

import type { KarstClient } from '../api/client';
import type { Entry, ResultRows } from '../api/types';
import { OWN } from '../monitor/panels';
import { cellNumber, cellText } from '../statistics/table';

const HEALTH = '/services/cluster/manager/health';
const FIXUP = '/services/cluster/manager/fixup';

/**
 * The last figures of each process, by its ID, which one line of each interval has. The lines of an interval have
 * one time and host; a host alone may have several processes.
 */
export const LOAD_SEARCH = [
  'search index=_internal source=*metrics.log* group IN (instance, thruput, queue, cache, uploads)',
  'eventstats values(guid) AS process BY host _time',
  'where mvcount(process)=1',
  'eval fill=if(group="queue",100*current_size_kb/max_size_kb,null()), found=if(tier!="store",kb,null()), read=if(group="cache",kb,null())',
  'stats latest(load_average) AS load latest(cpu_count) AS cpus max(fill) AS fill sum(found) AS found sum(read) AS read latest(waiting) AS waiting BY process',
].join(' | ');
const MINUTES = 5;
const MOST_PROCESSES = 10_000;

export interface PeerLoad {
  /** Of one minute, and the processors. */
  load: number | null;
  cpus: number | null;
  /** Percent of the fullest queue. */
  fill: number | null;
  /** Percent of the bytes that came from memory or disk; null where nothing was read. */
  hits: number | null;
  /** Buckets that are not in object storage yet. */
  waiting: number | null;
}

export interface ClusterLoad {
  /** By the ID of the process. */
  peers: Map<string, PeerLoad>;
  /** The sets of lost indexers that a process recovers, by its ID. */
  recoveries: Map<string, string[]>;
  /** Why events have fewer copies than they should. */
  copies: string[];
}

/** As events and links have it: with or without dashes. */
const plain = (id: string) => id.replaceAll('-', '');

export function decodeLoads({ fields, rows }: ResultRows): ClusterLoad['peers'] {
  const at = (name: string) => fields.indexOf(name);
  return new Map(
    rows.map((row) => {
      const number = (name: string) => cellNumber(row[at(name)] ?? null);
      const [found, read] = [number('found') ?? 0, number('read') ?? 0];
      const load: PeerLoad = {
        load: number('load'),
        cpus: number('cpus'),
        fill: number('fill'),
        hits: read > 0 ? (100 * found) / read : null,
        waiting: number('waiting'),
      };
      return [plain(cellText(row[at('process')] ?? null)), load];
    }),
  );
}

export function decodeRecoveries(entries: readonly Entry[]): ClusterLoad['recoveries'] {
  const found: ClusterLoad['recoveries'] = new Map();
  for (const { content } of entries) {
    const owner = plain(String(content.assigned_to ?? ''));
    const lost = `${content.peer_label ?? content.peer}, set ${content.set}`;
    found.set(owner, [...(found.get(owner) ?? []), lost]);
  }
  return found;
}

export function decodeCopies([health]: readonly Entry[]): string[] {
  const messages = health?.content.messages;
  if (health?.content.replication_factor_met !== false || !Array.isArray(messages)) return [];
  return messages.map(String).filter((text) => text.includes('replication_factor'));
}

/** The figures of a process. */
export const loadOf = (of: ClusterLoad | undefined, id: string) => of?.peers.get(plain(id));
export const recoveriesOf = (of: ClusterLoad | undefined, id: string) =>
  of?.recoveries.get(plain(id)) ?? [];

export async function clusterLoad(client: KarstClient, signal: AbortSignal): Promise<ClusterLoad> {
  const figures = async () => {
    const request = {
      search: LOAD_SEARCH,
      earliest: `-${MINUTES}m`,
      latest: 'now',
      timezone: 'UTC',
    };
    const sid = await client.createJob(request, signal, {
      exec_mode: 'blocking',
      status_buckets: '0',
      provenance: `${OWN}:cluster`,
    });
    const rows = await client.rows(sid, 'results', { offset: 0, count: MOST_PROCESSES }, signal);
    client.removeJob(sid).catch(() => {});
    return decodeLoads(rows);
  };
  const [peers, fixups, health] = await Promise.all([
    // Who may see the cluster may still not search `_internal`.
    figures().catch(() => new Map()),
    client.entries(FIXUP, signal),
    client.entries(HEALTH, signal),
  ]);
  return { peers, recoveries: decodeRecoveries(fixups), copies: decodeCopies(health) };
}

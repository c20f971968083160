/** Maintenance mode of the cluster, as the server knows and changes it, and the words for what it does. */

import type { KarstClient } from '../api/client';

const PATH = '/services/cluster/manager/control/default/maintenance';

export const setMaintenance = (client: KarstClient, isOn: boolean) =>
  client.change(PATH, { mode: String(isOn) });

/** What is on the page while it is on. */
export const MAINTAINED =
  'The cluster is in maintenance mode: lost copies of journals are not replaced, and taking indexers out is refused.';

/** What turning it on, or off, does. */
export const effectsOf = (isOn: boolean): string[] =>
  isOn
    ? [
        'A lost copy of a journal (ackLevel = replicated) is not replaced: this would copy the whole journal to another indexer. The owner of the journal waits for the copy instead.',
        'Until the copy is back, acknowledgements of this journal wait until its buckets are in object storage.',
        'Taking indexers out of the cluster is refused.',
        'Events of lost indexers are still recovered, and searches go on.',
        'It stays on until it is turned off, also when processes restart.',
      ]
    : [
        'Copies of journals that are lost now are replaced: each is copied as a whole to another indexer.',
        'Indexers can be taken out of the cluster again.',
      ];

/** Follows the one job of the search page. Loaded after the page, which is usable without it. */

import type { KarstClient } from '../api/client';
import { readEvents } from '../api/eventStream';
import { JobFeed, type JobFeedOptions } from '../api/jobFeed';
import type { JobStatus } from '../api/types';

export type StatusClient = Pick<KarstClient, 'jobStatuses' | 'jobStream'>;

export interface Listener {
  /** null: the job is gone. */
  onStatus: (status: JobStatus | null) => void;
  onTrouble: JobFeedOptions['onTrouble'];
}

/** Where there is no stream, most searches have ended after the first requests; from then on one a second. */
const FIRST_DELAY = 80;
const LONGEST_DELAY = 1_000;
const pace = (request: number) =>
  request === 0 ? 0 : Math.min(LONGEST_DELAY, FIRST_DELAY * 1.5 ** (request - 1));

export function followJob(
  client: StatusClient,
  sid: string,
  { onStatus, onTrouble }: Listener,
  more: Pick<JobFeedOptions, 'mayStream' | 'visibility'> = {},
): JobFeed {
  const feed = new JobFeed({
    ...more,
    name: null,
    pace,
    source: {
      async jobs(sids) {
        const { jobs } = await client.jobStatuses(sids, { touch: true });
        return new Map([...jobs].map(([id, job]) => [id, job.status]));
      },
      async stream(sids, _name, signal) {
        return readEvents(await client.jobStream(sids, signal));
      },
    },
    onStatus: (_sid, status) => onStatus(status),
    onTrouble,
  });
  feed.follow(sid);
  return feed;
}

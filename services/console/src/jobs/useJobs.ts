/** The jobs of the page: the list now and then, and the progress of all of them in one request. */

import { useQuery } from '@tanstack/react-query';
import { useClient } from '../app/clientContext';
import { type JobRow, rowsOf } from './jobRows';

/** Milliseconds between two lists: jobs begin elsewhere, too. */
const LIST_EVERY = 5_000;
const STATUS_EVERY = 1_000;
/** The most that the server takes in a request. */
const MOST_JOBS = 1_000;

export function useJobs() {
  const client = useClient();
  const list = useQuery({
    queryKey: ['jobs'],
    queryFn: ({ signal }) => client.jobs(signal),
    refetchInterval: LIST_EVERY,
  });
  const sids = (list.data ?? []).map((job) => job.sid).slice(0, MOST_JOBS);
  const statuses = useQuery({
    queryKey: ['jobs', 'status', sids],
    enabled: sids.length > 0,
    queryFn: ({ signal }) => client.jobStatuses(sids, { signal }),
    placeholderData: (before) => before,
    refetchInterval: ({ state }) => {
      const jobs = [...(state.data?.jobs.values() ?? [])];
      return jobs.some(({ status }) => !status.isDone && !status.isFailed) ? STATUS_EVERY : false;
    },
  });
  const rows: JobRow[] = rowsOf(list.data ?? [], statuses.data ?? null);
  return {
    rows,
    error: list.error ?? statuses.error,
    isPending: list.isPending,
    updatedAt: list.dataUpdatedAt,
    reload: () => void list.refetch().then(() => statuses.refetch()),
  };
}

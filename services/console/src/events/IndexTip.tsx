/** The tip about the index of a search without results, with a search that finds events. One request, once done. */

import { useQuery } from '@tanstack/react-query';
import type { JobStatus } from '../api/types';
import { useClient } from '../app/clientContext';
import { useZone } from '../app/preferences';
import { absoluteRange, type TimeRange } from '../time/timeRange';
import { formatEpoch } from '../time/zone';
import styles from './IndexTip.module.css';
import { type IndexHint, indexHint } from './indexHint';

const INDEXES = '/services/data/indexes';
/** Seconds before and after an event that are searched. */
const AROUND = 1_800;

interface IndexTipProps {
  query: string;
  job: JobStatus;
  onRange: (range: TimeRange) => void;
}

/** An item of a list of tips. */
export function IndexTip({ query, job, onRange }: IndexTipProps) {
  const client = useClient();
  const [zone] = useZone();
  const { data } = useQuery({
    queryKey: ['objects', INDEXES],
    queryFn: ({ signal }) => client.entries(INDEXES, signal),
    staleTime: 30_000,
    retry: false,
  });
  const hint = data ? indexHint(query, job, data) : null;
  if (!hint) return null;
  return (
    <li data-testid="index-tip" data-kind={hint.kind}>
      {textOf(hint, zone)}{' '}
      {'time' in hint && (
        <button
          type="button"
          className={styles.link}
          onClick={() => onRange(absoluteRange(hint.time - AROUND, hint.time + AROUND))}
        >
          Search around this time
        </button>
      )}
    </li>
  );
}

function textOf(hint: IndexHint, zone: string): string {
  switch (hint.kind) {
    case 'none':
      return 'The search names no index: only the default indexes of your roles were searched. Try index=*.';
    case 'unknown':
      return `There is no index ${hint.index}, or you may not search it. Check its name.`;
    case 'empty':
      return `The index ${hint.index} has no events.`;
    case 'older':
      return `The newest event of the index ${hint.index} is from ${formatEpoch(hint.time, zone)}.`;
    case 'younger':
      return `The oldest event of the index ${hint.index} is from ${formatEpoch(hint.time, zone)}.`;
  }
}

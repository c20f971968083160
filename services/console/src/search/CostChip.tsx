/** What the search cost: bytes by where they were read, requests, dollars. It leads to the inspector. */

import { IconCoin } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useClient } from '../app/clientContext';
import { dollars } from '../app/format';
import { PageLink } from '../app/PageLink';
import { paths } from '../app/routing';
import { readText } from '../inspector/inspection';
import styles from './JobBar.module.css';

export function CostChip({ sid, onOpen }: { sid: string; onOpen: () => void }) {
  const client = useClient();
  const { data } = useQuery({
    queryKey: ['cost', sid],
    queryFn: ({ signal }) => client.jobStatuses([sid], { signal }),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const cost = data?.jobs.get(sid)?.cost;
  return (
    <PageLink
      className={styles.cost}
      href={paths.inspect(sid)}
      onClick={onOpen}
      title="Open the job inspector"
      data-testid="cost"
    >
      <IconCoin size={14} aria-hidden="true" />
      {cost ? `${readText(cost.bytes)} · ${dollars(cost.dollars)}` : 'Inspect'}
    </PageLink>
  );
}

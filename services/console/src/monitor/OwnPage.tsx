/** A page of the product for those who may see what it is about: nothing else is asked for, and nothing shown. */

import { useQuery } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { useClient, useLacking } from '../app/clientContext';
import list from '../app/List.module.css';
import { useTitle } from '../app/useTitle';
import { NotAllowed } from '../states/NotAllowed';
import { Skeleton } from '../states/Skeleton';
import { missingOf, type Page } from './panels';

export function OwnPage({ page, children }: { page: Page; children: ReactNode }) {
  useTitle(page.label);
  const lacking = useLacking('search');
  const missing = useMissingIndexes(page.indexes, lacking === null);
  if (lacking === null && missing?.length === 0) return children;
  return (
    <div className={list.page}>
      <header className={list.head}>
        <h1>{page.label}</h1>
      </header>
      {lacking ? (
        <NotAllowed capability={lacking} />
      ) : missing ? (
        <NotAllowed indexes={missing} />
      ) : (
        <Skeleton lines={6} />
      )}
    </div>
  );
}

/** The indexes that the user may not search; null until it is known. */
function useMissingIndexes(indexes: readonly string[], isAsked: boolean): string[] | null {
  const client = useClient();
  const { data, error } = useQuery({
    queryKey: ['objects', '/services/data/indexes'],
    enabled: isAsked,
    queryFn: ({ signal }) => client.entries('/services/data/indexes', signal),
  });
  if (error) return [];
  return data ? missingOf(indexes, data) : null;
}

/** An address of an app that the server does not have: those that it has. */

import { useQueryClient } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import type { AppInfo } from '../api/types';
import { Empty } from '../states/Empty';
import { Skeleton } from '../states/Skeleton';
import styles from './NotFoundPage.module.css';
import { PageLink } from './PageLink';
import { paths } from './routing';
import { useTitle } from './useTitle';

export function UnknownAppPage({ app, apps }: { app: string; apps: readonly AppInfo[] }) {
  useTitle('Not found');
  const queries = useQueryClient();
  const [isSure, setSure] = useState(false);
  // The app may be newer than the list: another user, or this page, has just created it.
  useEffect(() => {
    queries.refetchQueries({ queryKey: ['apps'] }).then(() => setSure(true));
  }, [queries]);
  if (!isSure) return <Skeleton />;
  return (
    <div className={styles.page} data-testid="unknown-app">
      <Empty title={`There is no app "${app}"`}>
        <p>It may have been removed, or the address is not right. These apps exist:</p>
        <ul>
          {apps.map(({ name, label }) => (
            <li key={name}>
              <PageLink href={paths.search(name)}>{label}</PageLink>
            </li>
          ))}
        </ul>
        <p>
          <PageLink href={paths.settings('apps')}>All apps</PageLink>
        </p>
      </Empty>
    </div>
  );
}

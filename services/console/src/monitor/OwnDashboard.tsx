/** A dashboard of the product: its panels as Simple XML, run as any other dashboard. */

import { ActionIcon, Tooltip } from '@mantine/core';
import { IconRefresh } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import { useClient } from '../app/clientContext';
import list from '../app/List.module.css';
import { Notice } from '../app/Notice';
import { useTitle } from '../app/useTitle';
import { readDashboard } from '../dashboards/model/reader';
import { replaceQuery } from '../dashboards/pages/address';
import { Progress } from '../dashboards/pages/DashboardPage';
import { DashboardView } from '../dashboards/pages/DashboardView';
import type { DashboardRun } from '../dashboards/runtime/page';
import type { TimePreset } from '../dashboards/runtime/server';
import { useConnection } from '../dashboards/useConnection';
import styles from './Monitor.module.css';
import { type Page, pageXml } from './panels';

/** The app whose knowledge objects the searches use. */
const APP = 'search';
const NO_TIMES: TimePreset[] = [];

/** The indexes of a page that the user may not search, or that this server does not have; null until it is known. */
function useMissingIndexes(indexes: readonly string[]): string[] | null {
  const client = useClient();
  const { data, error } = useQuery({
    queryKey: ['objects', '/services/data/indexes'],
    queryFn: ({ signal }) => client.entries('/services/data/indexes', signal),
  });
  if (error) return [];
  if (!data) return null;
  const names = new Set(data.map((entry) => entry.name));
  return indexes.filter((name) => !names.has(name));
}

interface OwnDashboardProps {
  page: Page;
  tools?: ReactNode;
  /** Above the panels. */
  children?: ReactNode;
}

export function OwnDashboard({ page, tools, children }: OwnDashboardProps) {
  useTitle(page.label);
  const { server } = useConnection();
  const dashboard = useMemo(() => readDashboard(pageXml(page)), [page]);
  const [run, setRun] = useState<DashboardRun | null>(null);
  const times = useQuery({
    queryKey: ['times', APP],
    queryFn: () => server.listTimes(APP).catch(() => NO_TIMES),
    staleTime: 60_000,
  });
  const missing = useMissingIndexes(page.indexes);
  return (
    <div className={list.page}>
      <header className={list.head}>
        <h1>{page.label}</h1>
        <span>{page.about}</span>
        <div className={styles.tools}>
          {run && <Progress run={run} />}
          {tools}
          <Tooltip label="Refresh">
            <ActionIcon aria-label="Refresh the page" onClick={() => run?.manager.rerun()}>
              <IconRefresh size={16} />
            </ActionIcon>
          </Tooltip>
        </div>
      </header>
      {children}
      {missing && missing.length > 0 && (
        <Notice kind="warning">
          {`Your roles may not search ${missing.join(', ')}: panels over ${missing.length === 1 ? 'it' : 'them'} stay empty, and counts are 0. Ask an administrator for a role that may (srchIndexesAllowed).`}
        </Notice>
      )}
      {times.data && missing && (
        <DashboardView
          dashboard={dashboard}
          app={APP}
          view={page.label}
          times={times.data}
          onQuery={replaceQuery}
          onRun={setRun}
        />
      )}
    </div>
  );
}

/** A dashboard of the product: its panels as Simple XML, run as any other dashboard. */

import { ActionIcon, Tooltip } from '@mantine/core';
import { IconRefresh } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type ReactNode, useMemo, useState } from 'react';
import list from '../app/List.module.css';
import { readDashboard } from '../dashboards/model/reader';
import { writeQuery } from '../dashboards/pages/address';
import { Progress } from '../dashboards/pages/DashboardPage';
import { DashboardView } from '../dashboards/pages/DashboardView';
import type { DashboardRun } from '../dashboards/runtime/page';
import type { TimePreset } from '../dashboards/runtime/server';
import { useConnection } from '../dashboards/useConnection';
import styles from './Monitor.module.css';
import { OWN, type Page, pageXml } from './panels';

/** The app whose knowledge objects the searches use. */
const APP = 'search';
const NO_TIMES: TimePreset[] = [];

interface OwnDashboardProps {
  page: Page;
  tools?: ReactNode;
  /** Above the panels. */
  children?: ReactNode;
}

export function OwnDashboard({ page, tools, children }: OwnDashboardProps) {
  const { server } = useConnection();
  const dashboard = useMemo(() => readDashboard(pageXml(page)), [page]);
  const [run, setRun] = useState<DashboardRun | null>(null);
  const times = useQuery({
    queryKey: ['times', APP],
    queryFn: () => server.listTimes(APP).catch(() => NO_TIMES),
    staleTime: 60_000,
  });
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
      {times.data && (
        <DashboardView
          dashboard={dashboard}
          app={APP}
          view={page.label}
          provenance={`${OWN}:${page.label}`}
          times={times.data}
          onQuery={writeQuery}
          onRun={setRun}
        />
      )}
    </div>
  );
}

/** `/monitor/PAGE`: performance, cost, the cluster, its configuration bundle. */

import { lazy, Suspense } from 'react';
import { useClient } from '../app/clientContext';
import { MONITOR_TITLES } from '../app/pages';
import { MONITOR_PAGES, type MonitorPageName, paths } from '../app/routing';
import { ClusterPage } from '../cluster/ClusterPage';
import { SectionTabs } from '../objects/SectionTabs';
import { Skeleton } from '../states/Skeleton';
import { CostPage } from './CostPage';
import { COST } from './cost';
import { OwnDashboard } from './OwnDashboard';
import { OwnPage } from './OwnPage';
import { PERFORMANCE } from './performance';
import { ServerNow } from './ServerNow';

const BundlePage = lazy(() => import('../cluster/BundlePage'));

export default function MonitorPage({ page }: { page: MonitorPageName }) {
  const tabs = MONITOR_PAGES.map((one) => ({
    label: MONITOR_TITLES[one],
    href: paths.monitor(one),
    isCurrent: one === page,
  }));
  return (
    <>
      <SectionTabs label="Monitor" tabs={tabs} />
      <Suspense fallback={<Skeleton lines={4} />}>
        <View page={page} />
      </Suspense>
    </>
  );
}

function View({ page }: { page: MonitorPageName }) {
  const client = useClient();
  switch (page) {
    case 'performance':
      return (
        <OwnPage key={page} page={PERFORMANCE}>
          <OwnDashboard page={PERFORMANCE}>
            <ServerNow />
          </OwnDashboard>
        </OwnPage>
      );
    case 'cost':
      return (
        <OwnPage key={page} page={COST}>
          <CostPage />
        </OwnPage>
      );
    case 'cluster':
      return <ClusterPage client={client} />;
    case 'bundle':
      return <BundlePage />;
  }
}

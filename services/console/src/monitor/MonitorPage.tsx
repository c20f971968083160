/** `/monitor/PAGE`: the cluster. */

import { useClient } from '../app/clientContext';
import type { MonitorPageName } from '../app/routing';
import { ClusterPage } from '../cluster/ClusterPage';

interface MonitorPageProps {
  page: MonitorPageName;
  app: string;
}

export default function MonitorPage(_: MonitorPageProps) {
  const client = useClient();
  return <ClusterPage client={client} />;
}

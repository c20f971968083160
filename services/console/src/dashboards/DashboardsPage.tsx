/** The dashboards of an app. */

import { Empty } from '../states/Empty';

export default function DashboardsPage({ app }: { app: string }) {
  return <Empty title={`This version has no page for the dashboards of ${app}`} />;
}

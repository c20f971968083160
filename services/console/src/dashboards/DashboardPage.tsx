/** One dashboard. */

import { Empty } from '../states/Empty';

export default function DashboardPage({ app, view }: { app: string; view: string }) {
  return <Empty title={`This version cannot show ${view} of ${app}`} />;
}

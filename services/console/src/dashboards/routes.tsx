/** The pages of dashboards by their addresses: `/app/APP/dashboards`, `/app/APP/VIEW`, `/app/APP/VIEW/edit`. */

import { lazy, type ReactNode, Suspense } from 'react';

const DashboardPage = lazy(async () => ({
  default: (await import('./pages/DashboardPage')).DashboardPage,
}));
const DashboardsPage = lazy(async () => ({
  default: (await import('./pages/DashboardsPage')).DashboardsPage,
}));

/** Names below an app that are pages of the console. */
const OTHERS = new Set(['search', 'reports', 'report', 'alerts', 'alert', 'lookups', 'datasets']);

/** The page of a path; null for the path of another page. */
export function dashboardOf(path: string): ReactNode {
  const found = /^\/(?:[a-z]{2}-[A-Z]{2}\/)?app\/([^/]+)\/([^/]+)(\/edit)?\/?$/.exec(path);
  if (!found) return null;
  const [app, view] = [found[1] ?? '', found[2] ?? ''].map(decodeURIComponent);
  if (!app || !view || OTHERS.has(view)) return null;
  return (
    <Suspense fallback={null}>
      {view === 'dashboards' ? (
        <DashboardsPage app={app} />
      ) : (
        <DashboardPage key={`${app}/${view}`} app={app} view={view} edit={found[3] !== undefined} />
      )}
    </Suspense>
  );
}

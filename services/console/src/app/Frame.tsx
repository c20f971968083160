/**
 * What surrounds every view: bar, rail, palette, keys. `#main` is the one part that scrolls, and has the
 * focus after a change of view, so that readers of screens begin there.
 */

import { useHotkeys } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import type { AppInfo } from '../api/types';
import { SearchPage } from '../search/SearchPage';
import { Skeleton } from '../states/Skeleton';
import { AREAS } from './areas';
import { useApps, useConnection, useIsMeSettled, useMe } from './clientContext';
import { ErrorBoundary } from './ErrorBoundary';
import styles from './Frame.module.css';
import { leave } from './leaving';
import { NotFoundPage } from './NotFoundPage';
import { AccountZone, useLastApp, useLetterShortcuts } from './preferences';
import { Rail } from './Rail';
import { DEFAULT_APP, navigate, type Route, unknownApp, useRoute } from './routing';
import { ShortcutsHelp } from './ShortcutsHelp';
import { closeMenus, type Shortcuts, useShortcuts } from './shortcuts';
import { TopBar } from './TopBar';
import { UnknownAppPage } from './UnknownAppPage';

const DataPage = lazy(() => import('../data/DataPage'));
const SettingsPage = lazy(() => import('../settings/SettingsPage'));
const MonitorPage = lazy(() => import('../monitor/MonitorPage'));
const DashboardPage = lazy(async () => ({
  default: (await import('../dashboards/pages/DashboardPage')).DashboardPage,
}));
const DashboardsPage = lazy(async () => ({
  default: (await import('../dashboards/pages/DashboardsPage')).DashboardsPage,
}));
const HomePage = lazy(() => import('../home/HomePage'));
const InspectorPage = lazy(() => import('../inspector/InspectorPage'));
const JobsPage = lazy(() => import('../jobs/JobsPage'));
const Palette = lazy(() => import('./Palette'));
const PasswordDialog = lazy(() => import('./PasswordDialog'));
const ReportsPage = lazy(() => import('../reports/ReportsPage'));

/** What changing the own password needs: one of these. */
const OWN_PASSWORD = ['change_own_password', 'edit_user'];

export function Frame({ onSignOut }: { onSignOut: () => void }) {
  const { client, username, renewal } = useConnection();
  const route = useRoute();
  const { apps = [], all } = useApps();
  const unknown = unknownApp(route, all);
  const app = useCurrentApp(route, all);
  const [isMenuOpen, setMenuOpen] = useState(false);
  const [isPaletteOpen, setPaletteOpen] = useState(false);
  const [areKeysShown, setKeysShown] = useState(false);
  const [isPasswordOpen, setPasswordOpen] = useState(false);
  const me = useMe();
  const isMeSettled = useIsMeSettled();
  const mayChangePassword = OWN_PASSWORD.some((one) => me?.capabilities.has(one));
  const [letters] = useLetterShortcuts();
  const main = useRef<HTMLElement>(null);
  const signOut = () => leave(onSignOut);
  const server = useQuery({
    queryKey: ['server'],
    queryFn: ({ signal }) => client.serverInfo(signal),
    staleTime: 300_000,
  });

  // Not below the login dialog.
  const togglePalette = () => {
    if (renewal.isEnded) return;
    closeMenus();
    setPaletteOpen((open) => !open);
  };
  useHotkeys([['mod+K', togglePalette]], [], true);
  const showKeys = () => {
    closeMenus();
    setKeysShown(true);
  };
  const shortcuts: Shortcuts = { '?': showKeys };
  for (const area of AREAS) shortcuts[`g ${area.key}`] = () => navigate(area.href(app));
  useShortcuts(shortcuts, letters);

  const shown = route.view === 'moved' ? '' : placeOf(route);
  const first = useRef(true);
  useEffect(() => {
    setMenuOpen(false);
    const isInside = main.current?.contains(document.activeElement) ?? false;
    if (!first.current && !isInside) main.current?.focus({ preventScroll: true });
    if (shown !== '') first.current = false;
    main.current?.scrollTo(0, 0);
  }, [shown]);

  return (
    <div className={styles.frame}>
      <button type="button" className={styles.skip} onClick={() => main.current?.focus()}>
        Skip to content
      </button>
      <TopBar
        server={server.data ?? null}
        apps={apps}
        app={app}
        username={username}
        isMenuOpen={isMenuOpen}
        onMenu={() => setMenuOpen((open) => !open)}
        onPalette={() => setPaletteOpen(true)}
        onKeys={() => setKeysShown(true)}
        onPassword={mayChangePassword ? () => setPasswordOpen(true) : null}
        onSignOut={signOut}
      />
      <div className={styles.body}>
        <Rail route={route} app={app} isOpen={isMenuOpen} onClose={() => setMenuOpen(false)} />
        <main className={styles.main} id="main" ref={main} tabIndex={-1}>
          <ErrorBoundary key={shown}>
            <Suspense fallback={<Skeleton />}>
              {unknown !== null ? (
                <UnknownAppPage app={unknown} apps={apps} />
              ) : isMeSettled ? (
                <AccountZone value={me?.zone ?? ''}>
                  <View route={route} app={app} />
                </AccountZone>
              ) : (
                // A search in the address would run with the zone of the browser.
                <Skeleton />
              )}
            </Suspense>
          </ErrorBoundary>
        </main>
      </div>
      <ShortcutsHelp opened={areKeysShown} onClose={() => setKeysShown(false)} />
      {isPasswordOpen && (
        <ErrorBoundary>
          <Suspense>
            <PasswordDialog onClose={() => setPasswordOpen(false)} />
          </Suspense>
        </ErrorBoundary>
      )}
      {isPaletteOpen && (
        <ErrorBoundary>
          <Suspense>
            <Palette
              apps={apps}
              app={app}
              onClose={() => setPaletteOpen(false)}
              onKeys={() => setKeysShown(true)}
              onSignOut={signOut}
            />
          </Suspense>
        </ErrorBoundary>
      )}
    </div>
  );
}

/** Names the page of an address: an object that opens over its list is not another one. */
function placeOf(route: Route): string {
  const isList = route.view === 'data' || route.view === 'settings';
  return JSON.stringify(isList ? { ...route, name: null } : route);
}

/** The app of the address, else the last one; of apps that do not exist, none. */
function useCurrentApp(route: Route, all: readonly AppInfo[] | undefined): string {
  const [last, setLast] = useLastApp();
  const named = 'app' in route ? route.app : null;
  const app = named ?? last;
  const current = !all || all.some(({ name }) => name === app) ? app : DEFAULT_APP;
  useEffect(() => {
    if (current !== last) setLast(current);
  }, [current, last, setLast]);
  return current;
}

function View({ route, app }: { route: Route; app: string }) {
  const { client } = useConnection();
  switch (route.view) {
    case 'home':
      return <HomePage app={app} />;
    case 'search':
      return <SearchPage key={route.app} client={client} app={route.app} />;
    case 'reports':
      return <ReportsPage app={route.app} />;
    case 'dashboards':
      return <DashboardsPage app={route.app} />;
    case 'dashboard':
      return (
        <DashboardPage
          key={`${route.app}/${route.name}`}
          app={route.app}
          view={route.name}
          edit={route.edit}
        />
      );
    case 'jobs':
      return <JobsPage />;
    case 'inspect':
      return <InspectorPage sid={route.sid} />;
    case 'monitor':
      return <MonitorPage page={route.page} />;
    case 'data':
      return <DataPage kind={route.kind} name={route.name} app={app} />;
    case 'settings':
      return <SettingsPage kind={route.kind} name={route.name} app={app} />;
    case 'moved':
      return <Moved to={route.to} />;
    case 'unknown':
      return <NotFoundPage path={route.path} app={app} />;
  }
}

/** Goes on to the new address of a view, with the query of the old one. */
function Moved({ to }: { to: string }) {
  useEffect(() => navigate(to + window.location.search, { replace: true }), [to]);
  return null;
}

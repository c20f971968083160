/** A dashboard that runs, from its text: used by its page and by the preview of the editor. */

import { Box, useComputedColorScheme } from '@mantine/core';
import { useEffect, useId, useMemo, useRef, useState, useSyncExternalStore } from 'react';
import { Notice } from '../../app/Notice';
import { useZone } from '../../app/preferences';
import { DashboardContext, type Editing, type Running } from '../DashboardContext';
import type { Dashboard } from '../model/types';
import { useIsPrinted } from '../PrintContext';
import { DashboardRun } from '../runtime/page';
import { scopedCss } from '../runtime/sanitize';
import type { TimePreset } from '../runtime/server';
import { useConnection } from '../useConnection';
import { isOtherQuery } from './address';
import { DashboardBody } from './DashboardBody';
import styles from './DashboardView.module.css';
import { Scheme } from './Scheme';

interface DashboardViewProps {
  dashboard: Dashboard;
  app: string;
  view: string;
  /** What asks, for the audit trail; that of a dashboard without it. */
  provenance?: string;
  /** What inputs begin with; that of the address without one. */
  query?: URLSearchParams;
  times: readonly TimePreset[];
  onQuery?: (query: URLSearchParams, isChoice: boolean) => void;
  /** Hears of the run, for refresh and the line of progress. */
  onRun?: (run: DashboardRun | null) => void;
  editing?: Editing | null;
}

function openAddress(address: string, target: string): void {
  const isExternal = /^https?:\/\//i.test(address);
  // Other sites always get a tab of their own, and no way back into this one.
  if (target === '_blank' || isExternal) window.open(address, '_blank', 'noopener,noreferrer');
  else window.location.assign(address);
}

export function DashboardView(props: DashboardViewProps) {
  const { dashboard, app, view, times, editing = null } = props;
  const { username, server } = useConnection();
  const [zone] = useZone();
  // In the editor, a theme that is not saved yet may differ from that of the page.
  const around = useComputedColorScheme('light', { getInitialValueInEffect: false });
  const theme = useIsPrinted() ? 'light' : dashboard.theme;
  const scheme = theme === around ? null : theme;
  const scope = useId().replace(/[^\w]/g, '');
  const selector = `[data-dashboard="${scope}"]`;
  const latest = useRef(props);
  latest.current = props;
  const [run, setRun] = useState<DashboardRun | null>(null);
  const current = useRef<DashboardRun | null>(null);
  const [begun, setBegun] = useState(0);
  const [version, setVersion] = useState(0);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `begun` says to begin anew
  useEffect(() => {
    let shown = window.location.href;
    const created = new DashboardRun({
      dashboard: latest.current.dashboard,
      app,
      view,
      user: username,
      server,
      timezone: zone,
      provenance: latest.current.provenance,
      query: latest.current.query ?? new URLSearchParams(window.location.search),
      times,
      open: (address, target) => {
        // A click in the editor is about the panel.
        if (!latest.current.editing) openAddress(address, target);
      },
      onQuery: (query, isChoice) => {
        latest.current.onQuery?.(query, isChoice);
        shown = window.location.href;
      },
    });
    current.current = created;
    setRun(created);
    latest.current.onRun?.(created);
    const look = () => created.manager.pause(document.hidden);
    const leave = () => created.dispose();
    document.addEventListener('visibilitychange', look);
    window.addEventListener('pagehide', leave);
    // A page that the browser kept when it was left has no searches any more.
    const comeBack = (event: PageTransitionEvent) => event.persisted && window.location.reload();
    window.addEventListener('pageshow', comeBack);
    // Back and forward: to what the address says, unless it is that of another page or a place in this one.
    const step = () => {
      if (latest.current.onQuery && isOtherQuery(shown)) setBegun((now) => now + 1);
    };
    window.addEventListener('popstate', step);
    return () => {
      window.removeEventListener('popstate', step);
      document.removeEventListener('visibilitychange', look);
      window.removeEventListener('pagehide', leave);
      window.removeEventListener('pageshow', comeBack);
      created.dispose();
      latest.current.onRun?.(null);
    };
  }, [begun, app, view, username, server, zone, times]);

  useEffect(() => {
    const running = current.current;
    if (!running || running.dashboard === dashboard) return;
    if (running.replace(dashboard)) setVersion((now) => now + 1);
    else setBegun((now) => now + 1);
  }, [dashboard]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `version`: the run has another dashboard
  const running = useMemo<Running | null>(() => {
    if (!run) return null;
    return { run, server, scope: selector, dashboard: run.dashboard, editing };
  }, [run, server, selector, editing, version]);
  return (
    <Scheme scheme={scheme} selector={selector}>
      <Box
        className={`${styles.view} dashboard-body dashboard`}
        data-dashboard={scope}
        data-testid="dashboard"
        // The colours of the dashboard's theme, below it only.
        data-mantine-color-scheme={theme ?? undefined}
      >
        {running && (
          <DashboardContext.Provider value={running}>
            <AppStyles app={app} files={dashboard.stylesheets} running={running} />
            <Problems run={running.run} />
            <DashboardBody />
          </DashboardContext.Provider>
        )}
      </Box>
    </Scheme>
  );
}

/** The style sheets that the dashboard names, below it only. */
function AppStyles({ app, files, running }: { app: string; files: string[]; running: Running }) {
  const [css, setCss] = useState('');
  const { server, scope } = running;
  const key = files.join('\n');
  useEffect(() => {
    let isLeft = false;
    const load = async () => {
      const texts = await Promise.all(
        key
          .split('\n')
          .filter((file) => file !== '')
          .map((file) => {
            const [other, name] = file.includes(':') ? file.split(':', 2) : [app, file];
            return server.readStatic(other ?? app, name ?? file).catch(() => '');
          }),
      );
      if (!isLeft) setCss(texts.map((text) => scopedCss(text, scope)).join('\n'));
    };
    void load();
    return () => {
      isLeft = true;
    };
  }, [app, key, server, scope]);
  return css === '' ? null : <style>{css}</style>;
}

function Problems({ run }: { run: DashboardRun }) {
  const count = useSyncExternalStore(run.tokens.subscribe, () => run.problems.length);
  if (count === 0) return null;
  return (
    <div className={styles.problems}>
      <Notice kind="warning">{`Not computed: ${run.problems.join('; ')}`}</Notice>
    </div>
  );
}

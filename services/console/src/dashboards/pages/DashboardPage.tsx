/** `/app/APP/VIEW`: a dashboard, and its editor at `/app/APP/VIEW/edit`. */

import { ActionIcon, Button, Menu, Modal, Skeleton, Tooltip } from '@mantine/core';
import {
  IconArrowsMaximize,
  IconCoins,
  IconDots,
  IconPencil,
  IconPrinter,
  IconRefresh,
} from '@tabler/icons-react';
import {
  type ReactNode,
  useCallback,
  useEffect,
  useMemo,
  useRef,
  useState,
  useSyncExternalStore,
} from 'react';
import { flushSync } from 'react-dom';
import type { ApiError } from '../../api/client';
import { Notice } from '../../app/Notice';
import { paths } from '../../app/routing';
import { rememberOpened } from '../../home/opened';
import { findingText } from '../model/features';
import { readDashboard } from '../model/reader';
import type { Dashboard } from '../model/types';
import { XmlError } from '../model/xml';
import { PrintContext } from '../PrintContext';
import type { DashboardRun } from '../runtime/page';
import type { TimePreset, ViewInfo } from '../runtime/server';
import { useConnection } from '../useConnection';
import { AppNav } from './AppNav';
import { writeQuery } from './address';
import { CostDialog } from './CostDialog';
import { DashboardEditor } from './DashboardEditor';
import styles from './DashboardPage.module.css';
import { DashboardView } from './DashboardView';
import { Printing } from './Printing';
import { Scheme } from './Scheme';

type Theme = 'light' | 'dark';

interface DashboardPageProps {
  app: string;
  view: string;
  /** Whether the source is edited. */
  edit?: boolean;
}

interface Loaded {
  view: ViewInfo;
  times: TimePreset[];
}

export function DashboardPage({ app, view, edit = false }: DashboardPageProps) {
  const { username, server } = useConnection();
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [reads, setReads] = useState(0);
  const [isEditing, setEditing] = useState(edit);
  const [print, setPrint] = usePrint();

  // biome-ignore lint/correctness/useExhaustiveDependencies: `reads` asks again
  useEffect(() => {
    let isLeft = false;
    Promise.all([server.readView(app, view), server.listTimes(app).catch(() => [])]).then(
      ([found, times]) => !isLeft && setLoaded({ view: found, times }),
      (problem: ApiError) => !isLeft && setError(problem),
    );
    return () => {
      isLeft = true;
    };
  }, [server, app, view, reads]);

  useEffect(() => {
    if (!loaded) return;
    const title = loaded.view.label || view;
    document.title = `${title} · Karst`;
    const href = paths.dashboard(app, view);
    rememberOpened(localStorage, username, { kind: 'dashboard', title, app, href });
  }, [loaded, username, app, view]);

  const change = (next: boolean) => {
    const path = `/app/${encodeURIComponent(app)}/${encodeURIComponent(view)}${next ? '/edit' : ''}`;
    window.history.pushState(null, '', path + window.location.search);
    setPrint(null);
    setEditing(next);
  };

  return (
    <ThemedPage theme={pageTheme(loaded)} isPrinted={print !== null}>
      <AppNav app={app} view={view} server={server} />
      <div className={styles.main}>
        {error && (
          <Notice kind="error">
            {error.kind === 'notFound'
              ? `There is no dashboard "${view}" in the app ${app}, or you may not read it.`
              : error.message}
          </Notice>
        )}
        {!loaded && !error && <Skeleton height={240} />}
        {loaded &&
          (isEditing ? (
            <DashboardEditor
              view={loaded.view}
              times={loaded.times}
              onClose={() => change(false)}
              onSaved={() => setReads(reads + 1)}
            />
          ) : (
            <Viewer
              loaded={loaded}
              app={app}
              onEdit={() => change(true)}
              print={print}
              onPrint={setPrint}
            />
          ))}
      </div>
    </ThemedPage>
  );
}

/** The theme of a dashboard is that of its whole page. */
function pageTheme(loaded: Loaded | null): Theme | null {
  const found = /^[^>]*<(?:form|dashboard)\b[^>]*\btheme\s*=\s*["'](dark|light)["']/is.exec(
    loaded?.view.text.slice(0, 4_000) ?? '',
  )?.[1];
  return found === undefined ? null : found.toLowerCase() === 'dark' ? 'dark' : 'light';
}

/** Names the page for the colours of its components. */
const PAGE_ID = 'dashboard-page';

interface ThemedPageProps {
  theme: Theme | null;
  isPrinted: boolean;
  children: ReactNode;
}

/** A page with the colours of a theme, whatever those of the console are; on paper with light ones. */
function ThemedPage({ theme, isPrinted, children }: ThemedPageProps) {
  const scheme = isPrinted ? 'light' : theme;
  return (
    <PrintContext.Provider value={isPrinted}>
      <Scheme scheme={scheme} selector={`#${PAGE_ID}`}>
        <div
          id={PAGE_ID}
          className={styles.page}
          data-mantine-color-scheme={scheme ?? undefined}
          data-printed={isPrinted}
        >
          {children}
        </div>
      </Scheme>
    </PrintContext.Provider>
  );
}

/** How the page is printed: by its menu, which waits for its searches, or by the browser as it is; null otherwise. */
type Print = 'menu' | 'browser' | null;

function usePrint(): [Print, (print: Print) => void] {
  const [print, setPrint] = useState<Print>(null);
  useEffect(() => {
    // The browser takes its picture when the listeners have returned.
    const begin = () => flushSync(() => setPrint((now) => now ?? 'browser'));
    const end = () => setPrint(null);
    window.addEventListener('beforeprint', begin);
    window.addEventListener('afterprint', end);
    return () => {
      window.removeEventListener('beforeprint', begin);
      window.removeEventListener('afterprint', end);
    };
  }, []);
  return [print, setPrint];
}

interface ViewerProps {
  loaded: Loaded;
  app: string;
  onEdit: () => void;
  print: Print;
  onPrint: (print: Print) => void;
}

function read(text: string): { dashboard: Dashboard | null; error: XmlError | null } {
  try {
    return { dashboard: readDashboard(text), error: null };
  } catch (error) {
    if (error instanceof XmlError) return { dashboard: null, error };
    throw error;
  }
}

function Viewer({ loaded, app, onEdit, print, onPrint }: ViewerProps) {
  const { isEnded } = useConnection();
  const { view, times } = loaded;
  const { dashboard, error } = useMemo(() => read(view.text), [view.text]);
  const [run, setRun] = useState<DashboardRun | null>(null);
  const box = useRef<HTMLDivElement>(null);
  const endPrint = useCallback(() => onPrint(null), [onPrint]);

  useEffect(() => {
    const seconds = dashboard?.refresh ?? null;
    if (seconds === null || !run) return;
    const refresh = () => {
      // After hours without a session, the page would begin all searches of these hours at once.
      if (!document.hidden && !isEnded()) run.manager.rerun();
    };
    const timer = setInterval(refresh, seconds * 1000);
    return () => clearInterval(timer);
  }, [dashboard, run, isEnded]);

  if (error) {
    return (
      <Notice
        kind="error"
        action={
          <Button size="compact-xs" variant="default" onClick={onEdit}>
            Edit the source
          </Button>
        }
      >{`The dashboard is not valid XML, line ${error.line}: ${error.message}`}</Notice>
    );
  }
  if (!dashboard) return null;
  const refused = dashboard.report.level === 'none' && dashboard.report.findings[0];
  return (
    <div ref={box} className={styles.viewer}>
      <header className={styles.header}>
        <div className={styles.titles}>
          {!dashboard.hideTitle && <h1>{dashboard.label || view.label}</h1>}
          {dashboard.description && <p>{dashboard.description}</p>}
        </div>
        <Tools
          run={run}
          dashboard={dashboard}
          canEdit={!dashboard.hideEdit}
          onEdit={onEdit}
          onPrint={() => onPrint('menu')}
          box={box}
        />
      </header>
      {run && print === 'menu' && <Printing run={run} box={box} onEnd={endPrint} />}
      {refused ? (
        <Refused text={findingText(refused)} app={app} />
      ) : (
        <>
          <ScriptNotice dashboard={dashboard} name={`${app}/${view.name}`} />
          <DashboardView
            dashboard={dashboard}
            app={app}
            view={view.name}
            times={times}
            onQuery={writeQuery}
            onRun={setRun}
          />
        </>
      )}
    </div>
  );
}

function Refused({ text, app }: { text: string; app: string }) {
  return (
    <div className={styles.refused}>
      <p>This page cannot be shown. {text}.</p>
      <p>
        <a href={`/app/${encodeURIComponent(app)}/dashboards`}>Dashboards of this app</a>
      </p>
    </div>
  );
}

/** One line, once: the page has scripts, which are not run. */
function ScriptNotice({ dashboard, name }: { dashboard: Dashboard; name: string }) {
  const key = `karst.scripts-notice.${name}`;
  const [isClosed, setClosed] = useState(() => localStorage.getItem(key) !== null);
  if (dashboard.scripts.length === 0 || isClosed) return null;
  const close = () => {
    localStorage.setItem(key, '1');
    setClosed(true);
  };
  return (
    <div className={styles.notice}>
      <Notice
        kind="info"
        action={
          <Button size="compact-xs" variant="subtle" onClick={close}>
            Close
          </Button>
        }
      >{`Scripts of apps are not run (${dashboard.scripts.join(', ')}): what they add is missing here.`}</Notice>
    </div>
  );
}

interface ToolsProps {
  run: DashboardRun | null;
  dashboard: Dashboard;
  canEdit: boolean;
  onEdit: () => void;
  onPrint: () => void;
  box: React.RefObject<HTMLDivElement | null>;
}

function Tools({ run, dashboard, canEdit, onEdit, onPrint, box }: ToolsProps) {
  const [isOpen, setOpen] = useState(false);
  const [isCostOpen, setCostOpen] = useState(false);
  const { findings } = dashboard.report;
  const lost = findings.filter((finding) => finding.level !== 'ignored');
  return (
    <div className={styles.tools}>
      {run && <Progress run={run} />}
      <Tooltip label="Refresh">
        <ActionIcon aria-label="Refresh the dashboard" onClick={() => run?.manager.rerun()}>
          <IconRefresh size={16} />
        </ActionIcon>
      </Tooltip>
      {canEdit && (
        <Button
          size="compact-sm"
          variant="default"
          leftSection={<IconPencil size={14} />}
          onClick={onEdit}
        >
          Edit
        </Button>
      )}
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <ActionIcon aria-label="More actions of the dashboard">
            <IconDots size={16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item
            leftSection={<IconArrowsMaximize size={14} />}
            onClick={() => void box.current?.requestFullscreen?.()}
          >
            Full screen
          </Menu.Item>
          {!dashboard.hideExport && (
            <Menu.Item leftSection={<IconPrinter size={14} />} onClick={onPrint} disabled={!run}>
              Print or save as PDF
            </Menu.Item>
          )}
          <Menu.Item
            leftSection={<IconCoins size={14} />}
            onClick={() => setCostOpen(true)}
            disabled={!run}
          >
            Cost of this page view
          </Menu.Item>
          <Menu.Item onClick={() => setOpen(true)} disabled={findings.length === 0}>
            {lost.length > 0 ? `What is not shown (${lost.length})` : 'What is ignored'}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {run && isCostOpen && <CostDialog run={run} onClose={() => setCostOpen(false)} />}
      <Modal
        opened={isOpen}
        onClose={() => setOpen(false)}
        title="Parts of this dashboard that are not shown"
        size="lg"
      >
        <ul className={styles.findings}>
          {findings.map((finding) => (
            <li key={`${finding.line} ${finding.what}`}>
              line {finding.line}: {findingText(finding)}
            </li>
          ))}
        </ul>
      </Modal>
    </div>
  );
}

/** Milliseconds between two words of the live region. */
const QUIET = 2_000;

export function Progress({ run }: { run: DashboardRun }) {
  useSyncExternalStore(run.manager.subscribeAll, () => run.manager.version);
  const { done, all } = run.manager.progress();
  const [told, setTold] = useState('');
  const text = all === 0 ? '' : done < all ? `${done} of ${all} searches done` : '';
  const latest = useRef(text);
  latest.current = text;
  useEffect(() => {
    const timer = setInterval(() => setTold(latest.current), QUIET);
    return () => clearInterval(timer);
  }, []);
  return (
    <>
      <span className={styles.progress}>{text}</span>
      <span
        className="visually-hidden"
        role="status"
        aria-live="polite"
        data-testid="progress"
        data-done={all > 0 && done === all}
      >
        {told}
      </span>
    </>
  );
}

/** `/app/APP/dashboards`: the dashboards of an app; make, clone, share, delete them. */

import { Button, Checkbox, Menu, Skeleton, TextInput } from '@mantine/core';
import { IconCopy, IconLock, IconPencil, IconPlus, IconTrash } from '@tabler/icons-react';
import { useEffect, useMemo, useState } from 'react';
import type { ApiError } from '../../api/client';
import { ListTable } from '../../app/ListTable';
import { Notice } from '../../app/Notice';
import { RowMenu } from '../../app/RowMenu';
import { Visible } from '../../app/Visible';
import { reportOfText } from '../model/features';
import type { ViewInfo } from '../runtime/server';
import { useConnection } from '../useConnection';
import { AppNav } from './AppNav';
import page from './DashboardPage.module.css';
import styles from './DashboardsPage.module.css';
import { CreateDialog, DeleteDialog, PermissionsDialog } from './dialogs';

interface DashboardsPageProps {
  app: string;
}

type Dialog =
  | { kind: 'create'; source: ViewInfo | null }
  | { kind: 'delete'; view: ViewInfo }
  | { kind: 'permissions'; view: ViewInfo };

const SHARING: Record<string, string> = {
  user: 'Private',
  app: 'App',
  global: 'Global',
  system: 'Global',
};

export function DashboardsPage({ app }: DashboardsPageProps) {
  const { server } = useConnection();
  const [views, setViews] = useState<ViewInfo[] | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [reads, setReads] = useState(0);
  const [filter, setFilter] = useState('');
  const [allApps, setAllApps] = useState(false);
  const [dialog, setDialog] = useState<Dialog | null>(null);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `reads` asks again
  useEffect(() => {
    let isLeft = false;
    server.listViews(app).then(
      (found) => !isLeft && setViews(found),
      (problem: ApiError) => !isLeft && setError(problem),
    );
    return () => {
      isLeft = true;
    };
  }, [server, app, reads]);

  useEffect(() => {
    document.title = 'Dashboards · Karst';
  }, []);

  const shown = useMemo(() => {
    const words = filter.toLowerCase().split(/\s+/).filter(Boolean);
    return (views ?? [])
      .filter((view) => view.isDashboard && view.isVisible && (allApps || view.app === app))
      .filter((view) =>
        words.every((word) =>
          `${view.label} ${view.name} ${view.description}`.toLowerCase().includes(word),
        ),
      )
      .sort((a, b) => a.label.localeCompare(b.label));
  }, [views, filter, allApps, app]);
  const others = (views ?? []).some((view) => view.isDashboard && view.app !== app);
  const done = () => {
    setDialog(null);
    setReads(reads + 1);
  };

  return (
    <div className={page.page}>
      <AppNav app={app} view="dashboards" server={server} />
      <div className={page.main}>
        <header className={styles.header}>
          <h1>Dashboards</h1>
          <Button
            size="compact-sm"
            leftSection={<IconPlus size={14} />}
            onClick={() => setDialog({ kind: 'create', source: null })}
            data-testid="create"
          >
            Create dashboard
          </Button>
        </header>
        <div className={styles.filters}>
          <TextInput
            size="xs"
            aria-label="Filter dashboards"
            placeholder="Filter by title, id or description"
            value={filter}
            onChange={(event) => setFilter(event.currentTarget.value)}
          />
          {others && (
            <Checkbox
              size="xs"
              label="Include other apps"
              checked={allApps}
              onChange={(event) => setAllApps(event.currentTarget.checked)}
            />
          )}
          <span className={styles.count} role="status">
            {views ? `${shown.length} ${shown.length === 1 ? 'dashboard' : 'dashboards'}` : ''}
          </span>
        </div>
        {error && <Notice kind="error">{error.message}</Notice>}
        {!views && !error && <Skeleton height={200} />}
        {views && shown.length === 0 && (
          <p className={styles.empty}>
            {filter
              ? 'No dashboard matches the filter.'
              : 'This app has no dashboards yet. Create one, or install an app that has some.'}
          </p>
        )}
        {shown.length > 0 && (
          <ListTable
            columns={['Title', 'State', 'Owner', 'App', 'Sharing', { hidden: 'Actions' }]}
            className={styles.table}
            testId="dashboards"
          >
            {shown.map((view) => (
              <ViewRow
                key={`${view.app}/${view.owner}/${view.name}`}
                view={view}
                onDialog={setDialog}
              />
            ))}
          </ListTable>
        )}
        {dialog?.kind === 'create' && (
          <CreateDialog app={app} source={dialog.source} onClose={() => setDialog(null)} />
        )}
        {dialog?.kind === 'delete' && (
          <DeleteDialog view={dialog.view} onClose={() => setDialog(null)} onDone={done} />
        )}
        {dialog?.kind === 'permissions' && (
          <PermissionsDialog view={dialog.view} onClose={() => setDialog(null)} onDone={done} />
        )}
      </div>
    </div>
  );
}

function ViewRow({ view, onDialog }: { view: ViewInfo; onDialog: (dialog: Dialog) => void }) {
  const address = `/app/${encodeURIComponent(view.app)}/${encodeURIComponent(view.name)}`;
  const level = useMemo(() => reportOfText(view.text).level, [view.text]);
  return (
    <tr>
      <td>
        <a href={address}>
          <Visible text={view.label} />
        </a>
        {view.description && <p>{view.description}</p>}
      </td>
      <td>
        {level === 'part' && (
          <span className={styles.part} title="Some of its parts are not shown">
            in part
          </span>
        )}
        {level === 'none' && (
          <span className={styles.none} title="It cannot be shown">
            not supported
          </span>
        )}
      </td>
      <td>{view.owner}</td>
      <td>{view.app}</td>
      <td>{SHARING[view.sharing] ?? view.sharing}</td>
      <td className={styles.actions}>
        <RowMenu name={view.label}>
          <Menu.Item component="a" href={`${address}/edit`} leftSection={<IconPencil size={14} />}>
            Edit
          </Menu.Item>
          <Menu.Item
            leftSection={<IconCopy size={14} />}
            onClick={() => onDialog({ kind: 'create', source: view })}
          >
            Clone
          </Menu.Item>
          <Menu.Item
            leftSection={<IconLock size={14} />}
            disabled={!view.canWrite}
            onClick={() => onDialog({ kind: 'permissions', view })}
          >
            Permissions
          </Menu.Item>
          <Menu.Item
            leftSection={<IconTrash size={14} />}
            color="red"
            disabled={!view.isRemovable || !view.canWrite}
            title={view.isRemovable ? undefined : 'It is defined in the files of its app'}
            onClick={() => onDialog({ kind: 'delete', view })}
          >
            Delete
          </Menu.Item>
        </RowMenu>
      </td>
    </tr>
  );
}

/** The saved searches of an app: what they are of, whose, when they run. */

import { Menu } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError } from '../api/client';
import type { Entry, Report } from '../api/types';
import { useClient, useMe } from '../app/clientContext';
import { FilterInput } from '../app/FilterInput';
import { plural } from '../app/format';
import styles from '../app/List.module.css';
import { ListTable } from '../app/ListTable';
import { PageLink } from '../app/PageLink';
import { RemovalDialog } from '../app/RemovalDialog';
import { RowMenu } from '../app/RowMenu';
import { navigate, paths } from '../app/routing';
import { useTitle } from '../app/useTitle';
import { Visible } from '../app/Visible';
import { copyOf } from '../objects/form';
import { isChangeable, ObjectDialog } from '../objects/ObjectDialog';
import { ShareDialog } from '../objects/ShareDialog';
import { Empty } from '../states/Empty';
import { Failed } from '../states/Failed';
import { Skeleton } from '../states/Skeleton';
import { cloneOf, reports, stanzaOf } from './reportKind';
import { REPORTS } from './reportLists';

const SHARING: Record<string, string> = {
  user: 'private',
  app: 'this app',
  global: 'all apps',
  system: 'system',
};

export default function ReportsPage({ app }: { app: string }) {
  useTitle('Reports');
  const client = useClient();
  const [text, setText] = useState('');
  const me = useMe();
  const [doomed, setDoomed] = useState<Report | null>(null);
  const [chosen, setChosen] = useState<{ report: Report; for: 'edit' | 'clone' | 'share' } | null>(
    null,
  );
  const mayChange = me?.capabilities.has(reports.capability) ?? false;
  const close = () => setChosen(null);
  const { data, error, isPending, refetch } = useQuery({
    queryKey: [...REPORTS, app],
    queryFn: ({ signal }) => client.reports({ owner: '-', app }, signal),
  });
  const wanted = text.trim().toLowerCase();
  const shown = (data ?? []).filter((report) =>
    `${report.name} ${report.description} ${report.owner} ${report.search}`
      .toLowerCase()
      .includes(wanted),
  );

  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <h1>Reports</h1>
        {data && <span role="status">{plural(shown.length, 'report')}</span>}
        <div className={styles.filters}>
          <FilterInput
            label="Filter reports"
            placeholder="Name, owner, search"
            value={text}
            onChange={setText}
          />
        </div>
      </header>
      {isPending && <Skeleton lines={6} />}
      {error instanceof ApiError && <Failed error={error} onRetry={() => void refetch()} />}
      {data && shown.length === 0 && (
        <Empty title={data.length === 0 ? 'No reports' : 'No report matches the filter'}>
          {data.length === 0 && (
            <>
              <p>A report is a saved search: run one, then choose Save, As report.</p>
              <p>
                <PageLink href={paths.search(app)}>Go to the search</PageLink>
              </p>
            </>
          )}
        </Empty>
      )}
      {shown.length > 0 && (
        <ListTable
          columns={['Name', 'Search', 'Owner', 'Shared with', 'Schedule', { hidden: 'Actions' }]}
          testId="reports"
        >
          {shown.map((report) => (
            <tr key={`${report.owner}\u0000${report.app}\u0000${report.name}`}>
              <td className={styles.name}>
                <PageLink href={paths.report(app, report)}>
                  <Visible text={report.name} />
                </PageLink>
                {report.description && (
                  <div className={styles.about}>
                    <Visible text={report.description} />
                  </div>
                )}
              </td>
              <td className={styles.search} title={report.search}>
                <Visible text={report.search} />
              </td>
              <td>{report.owner}</td>
              <td>{SHARING[report.sharing] ?? report.sharing}</td>
              <td className={styles.nowrap}>{scheduleOf(report)}</td>
              <td>
                <RowMenu name={report.name}>
                  <Menu.Item onClick={() => navigate(paths.report(app, report))}>
                    Open in search
                  </Menu.Item>
                  <Menu.Item onClick={() => setChosen({ report, for: 'edit' })}>
                    {mayChange && isChangeable(reports, report.entry) ? 'Edit …' : 'Show …'}
                  </Menu.Item>
                  <Menu.Item
                    disabled={!mayChange}
                    onClick={() => setChosen({ report, for: 'clone' })}
                  >
                    Clone …
                  </Menu.Item>
                  <Menu.Item
                    disabled={!mayChange || !isChangeable(reports, report.entry)}
                    onClick={() => setChosen({ report, for: 'share' })}
                  >
                    Permissions …
                  </Menu.Item>
                  <Menu.Item
                    color="red"
                    disabled={!report.removable}
                    onClick={() => setDoomed(report)}
                  >
                    Delete …
                  </Menu.Item>
                </RowMenu>
              </td>
            </tr>
          ))}
        </ListTable>
      )}
      {chosen?.for === 'edit' && (
        <ObjectDialog kind={reports} app={app} entry={chosen.report.entry} onClose={close} />
      )}
      {chosen?.for === 'clone' && (
        <CloneDialog app={app} entry={chosen.report.entry} onClose={close} />
      )}
      {chosen?.for === 'share' && (
        <ShareDialog kind={reports} entry={chosen.report.entry} onClose={close} />
      )}
      {doomed && (
        <RemovalDialog
          title="Delete the report?"
          testId="delete-report"
          remove={() => client.deleteReport(doomed)}
          lists={[REPORTS]}
          onClose={() => setDoomed(null)}
        >
          <p>
            <b>{doomed.name}</b> of {doomed.owner} in {doomed.app}. Dashboards and links that use it
            will fail.
          </p>
        </RemovalDialog>
      )}
    </div>
  );
}

interface CloneDialogProps {
  app: string;
  entry: Entry;
  onClose: () => void;
}

function CloneDialog({ app, entry, onClose }: CloneDialogProps) {
  const client = useClient();
  const path = stanzaOf(entry);
  const { data, error, refetch } = useQuery({
    queryKey: ['stanza', path],
    gcTime: 0,
    queryFn: ({ signal }) => client.entries(path, signal),
  });
  const [stanza] = data ?? [];
  if (error instanceof ApiError) return <Failed error={error} onRetry={() => void refetch()} />;
  return (
    stanza && (
      <ObjectDialog
        kind={cloneOf(entry, stanza)}
        app={app}
        entry={null}
        given={copyOf(reports.fields, entry)}
        onClose={onClose}
      />
    )
  );
}

function scheduleOf(report: Report): string {
  if (report.disabled) return 'disabled';
  return report.isScheduled ? report.cron : '';
}

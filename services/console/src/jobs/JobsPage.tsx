/** Jobs: the user's own, or of everybody for somebody who may see them. */

import { ActionIcon, Menu, NativeSelect, Switch, Tooltip } from '@mantine/core';
import { IconDots, IconPlayerPause, IconPlayerPlay, IconPlayerStop } from '@tabler/icons-react';
import { useState } from 'react';
import { ApiError } from '../api/client';
import { useConnection, useMe } from '../app/clientContext';
import dot from '../app/Dot.module.css';
import { FilterInput } from '../app/FilterInput';
import { dollars, grouped } from '../app/format';
import styles from '../app/List.module.css';
import { ListTable } from '../app/ListTable';
import { Notice } from '../app/Notice';
import { PageLink } from '../app/PageLink';
import { useZone } from '../app/preferences';
import { addressOf, navigate, paths, useQuery } from '../app/routing';
import { useTitle } from '../app/useTitle';
import { Visible } from '../app/Visible';
import { duration, readText, size } from '../inspector/inspection';
import { Empty } from '../states/Empty';
import { Failed } from '../states/Failed';
import { Skeleton } from '../states/Skeleton';
import { StaleStripe } from '../states/Stripe';
import { formatEventTime } from '../time/zone';
import {
  appsOf,
  countText,
  filtered,
  isRunning,
  type JobFilter,
  type JobRow,
  lifetime,
  stateWord,
} from './jobRows';
import { useJobs } from './useJobs';

const STATES = [
  { value: 'all', label: 'All states' },
  { value: 'running', label: 'Running' },
  { value: 'done', label: 'Done' },
  { value: 'failed', label: 'Failed' },
];
const LIFETIMES = [600, 3_600, 86_400, 604_800];

/** The filter is in the address. */
function useFilter(username: string): [JobFilter, (change: Partial<JobFilter>) => void] {
  const parameters = new URLSearchParams(useQuery());
  const state = STATES.find((one) => one.value === parameters.get('state'))?.value ?? 'all';
  const user = parameters.get('user') ?? username;
  const filter = {
    state: state as JobFilter['state'],
    user: user === '*' ? '' : user,
    app: parameters.get('app') ?? '',
    withPages: parameters.get('pages') === '1',
    text: parameters.get('q') ?? '',
  };
  const change = (next: Partial<JobFilter>) => {
    const now = { ...filter, ...next };
    const address = addressOf(paths.jobs(), {
      state: now.state === 'all' ? undefined : now.state,
      user: now.user === username ? undefined : now.user || '*',
      app: now.app || undefined,
      pages: now.withPages ? '1' : undefined,
      q: now.text || undefined,
    });
    navigate(address, { replace: next.text !== undefined });
  };
  return [filter, change];
}

export default function JobsPage() {
  useTitle('Jobs');
  const { username } = useConnection();
  const me = useMe();
  const [filter, setFilter] = useFilter(username);
  const { rows, error, isPending, updatedAt, reload } = useJobs();
  const [failure, setFailure] = useState<ApiError | null>(null);
  const shown = filtered(rows, filter);
  const apps = appsOf(rows, filter.app);
  const seesAll = me?.capabilities.has('admin_all_objects') ?? false;
  const act = (action: Promise<unknown>) => {
    setFailure(null);
    action.then(reload, (reason: unknown) => {
      setFailure(reason instanceof ApiError ? reason : new ApiError('server', 0, []));
      reload();
    });
  };

  return (
    <div className={styles.page}>
      <header className={styles.head}>
        <h1>Jobs</h1>
        <span role="status" data-testid="job-count">
          {countText(
            shown.length,
            shown.filter(isRunning).length,
            rows.length > 0 || !(isPending || error),
          )}
        </span>
        <div className={styles.filters}>
          <FilterInput
            label="Filter jobs"
            placeholder="Search text, id, user"
            value={filter.text}
            onChange={(text) => setFilter({ text })}
          />
          <NativeSelect
            size="xs"
            aria-label="State"
            data={STATES}
            value={filter.state}
            onChange={(event) =>
              setFilter({ state: event.currentTarget.value as JobFilter['state'] })
            }
          />
          {apps.length > 1 && (
            <NativeSelect
              size="xs"
              aria-label="App"
              data={[{ value: '', label: 'All apps' }, ...apps]}
              value={filter.app}
              onChange={(event) => setFilter({ app: event.currentTarget.value })}
            />
          )}
          <Switch
            size="xs"
            label="Of dashboards and pages"
            checked={filter.withPages}
            onChange={(event) => setFilter({ withPages: event.currentTarget.checked })}
          />
          {seesAll && (
            <Switch
              size="xs"
              label="Of everybody"
              checked={filter.user === ''}
              onChange={(event) => setFilter({ user: event.currentTarget.checked ? '' : username })}
            />
          )}
        </div>
      </header>
      {failure && <Notice kind="error">{failure.message}</Notice>}
      {error instanceof ApiError &&
        (rows.length === 0 ? (
          <Failed error={error} onRetry={reload} />
        ) : (
          <StaleStripe since={updatedAt} reason={error.message} onRetry={reload} />
        ))}
      {isPending && <Skeleton lines={8} />}
      {!isPending && !error && shown.length === 0 && (
        <Empty title="No jobs">
          <p>
            {rows.length > 0
              ? 'No job matches the filters.'
              : 'A search becomes a job when it runs. It is kept for 10 minutes after its last use.'}
          </p>
        </Empty>
      )}
      {shown.length > 0 && (
        <ListTable
          columns={[
            'Search',
            'State',
            filter.user === '' && 'User',
            'Started',
            { numeric: 'Events' },
            { numeric: 'Time' },
            { numeric: 'Read' },
            { numeric: 'Cost' },
            { numeric: 'Kept for' },
            { hidden: 'Actions' },
          ]}
          testId="jobs"
        >
          {shown.map((row) => (
            <Row key={row.sid} row={row} withUser={filter.user === ''} act={act} />
          ))}
        </ListTable>
      )}
    </div>
  );
}

interface RowProps {
  row: JobRow;
  withUser: boolean;
  act: (action: Promise<unknown>) => void;
}

function Row({ row, withUser, act }: RowProps) {
  const [zone] = useZone();
  const { status, cost } = row;
  const read = cost ? cost.bytes.dram + cost.bytes.nvme + cost.bytes.store : null;
  return (
    <tr data-testid="job-row" data-state={stateWord(row)}>
      <td className={styles.search}>
        <PageLink
          href={addressOf(paths.search(row.app || 'search'), {
            q: row.search.replace(/^\s*search\s+/, ''),
            earliest: row.earliest,
            latest: row.latest,
            sid: row.sid,
          })}
          title={row.search}
        >
          <Visible text={row.label || row.search} />
        </PageLink>
      </td>
      <td>
        <span className={`${dot.dot} ${styles.state}`} data-state={stateWord(row)}>
          {stateWord(row)}
        </span>
        {isRunning(row) && (
          <progress
            className={styles.progress}
            max={1}
            value={status.doneProgress}
            aria-label="Progress"
          />
        )}
      </td>
      {withUser && <td>{row.owner}</td>}
      <td className={styles.nowrap}>{formatEventTime(row.created, zone).slice(0, 19)}</td>
      <td data-numeric="true">{grouped(status.eventCount)}</td>
      <td data-numeric="true">{duration(status.runDuration)}</td>
      <td data-numeric="true" title={cost ? readText(cost.bytes) : undefined}>
        {read === null ? '' : size(read)}
      </td>
      <td data-numeric="true">{cost ? dollars(cost.dollars) : ''}</td>
      <td data-numeric="true">{status.isSaved ? 'saved' : lifetime(status.ttl)}</td>
      <td>
        <Actions row={row} act={act} />
      </td>
    </tr>
  );
}

function Actions({ row, act }: Omit<RowProps, 'withUser'>) {
  const { client } = useConnection();
  const { sid, status } = row;
  return (
    <div className={styles.actions}>
      {isRunning(row) && (
        <>
          <Tooltip label={status.isPaused ? 'Resume' : 'Pause'}>
            <ActionIcon
              aria-label={`${status.isPaused ? 'Resume' : 'Pause'} ${sid}`}
              onClick={() => act(client.control(sid, status.isPaused ? 'unpause' : 'pause'))}
            >
              {status.isPaused ? <IconPlayerPlay size={15} /> : <IconPlayerPause size={15} />}
            </ActionIcon>
          </Tooltip>
          <Tooltip label="Stop and keep the results so far">
            <ActionIcon
              aria-label={`Stop ${sid}`}
              onClick={() => act(client.control(sid, 'finalize'))}
            >
              <IconPlayerStop size={15} />
            </ActionIcon>
          </Tooltip>
        </>
      )}
      <Menu position="bottom-end">
        <Menu.Target>
          <ActionIcon aria-label={`More for ${sid}`}>
            <IconDots size={15} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => navigate(paths.inspect(sid))}>Inspect</Menu.Item>
          <Menu.Item onClick={() => act(client.control(sid, status.isSaved ? 'unsave' : 'save'))}>
            {status.isSaved ? 'Stop keeping' : 'Keep for 7 days'}
          </Menu.Item>
          <Menu.Label>Keep after the last use for</Menu.Label>
          {LIFETIMES.map((seconds) => (
            <Menu.Item
              key={seconds}
              onClick={() => act(client.control(sid, 'setttl', { ttl: String(seconds) }))}
            >
              {lifetime(seconds)}
            </Menu.Item>
          ))}
          <Menu.Divider />
          <Menu.Item color="red" onClick={() => act(client.removeJob(sid))}>
            Delete
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </div>
  );
}

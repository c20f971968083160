/** Forwarders that have phoned home: when, which server classes they are in, and what became of their apps. */

import { Button, Checkbox, NativeSelect } from '@mantine/core';
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import { Fragment, useState } from 'react';
import { useClient } from '../app/clientContext';
import { FilterInput } from '../app/FilterInput';
import { grouped, plural } from '../app/format';
import list from '../app/List.module.css';
import { ListTable } from '../app/ListTable';
import { useZone } from '../app/preferences';
import { RemovalDialog } from '../app/RemovalDialog';
import { ShowAll } from '../app/ShowAll';
import { Empty } from '../states/Empty';
import { formatEpoch } from '../time/zone';
import styles from './Deployment.module.css';
import {
  ago,
  appsText,
  type DeployedApp,
  type Forwarder,
  hasError,
  isSilent,
  matchingForwarders,
  shortChecksum,
} from './deployment';

/** Rows at first: more are shown on demand. */
const MOST = 200;

interface ForwardersProps {
  forwarders: Forwarder[];
  /** Names of server classes. */
  classes: string[];
  mayRemove: boolean;
  /** Seconds since the epoch, when the list was asked for. */
  now: number;
  onRemoved: () => Promise<void>;
}

export function Forwarders({ forwarders, classes, mayRemove, now, onRemoved }: ForwardersProps) {
  const client = useClient();
  const [text, setText] = useState('');
  const [serverClass, setServerClass] = useState('');
  const [isOnlyWrong, setOnlyWrong] = useState(false);
  const [isWhole, setWhole] = useState(false);
  const [removed, setRemoved] = useState<Forwarder | null>(null);
  const found = matchingForwarders(forwarders, { text, serverClass, isOnlyWrong }, now);
  const wrong = forwarders.filter((one) => hasError(one) || isSilent(one, now)).length;
  const shown = isWhole ? found : found.slice(0, MOST);
  if (forwarders.length === 0) {
    return (
      <Empty title="No forwarder has phoned home since the start of this process">
        <p>
          On a forwarder, targetUri of [target-broker:deploymentServer] in deploymentclient.conf
          names this server, and pass4SymmKey of [deployment] in server.conf is the same key.
          karst-forwarder list deployment shows why a forwarder cannot connect.
        </p>
      </Empty>
    );
  }
  return (
    <>
      <div className={styles.filters}>
        <FilterInput label="Filter forwarders" value={text} onChange={setText} />
        <NativeSelect
          size="xs"
          aria-label="Server class"
          data={[
            { value: '', label: 'All server classes' },
            ...classes.map((name) => ({ value: name, label: name })),
          ]}
          value={serverClass}
          onChange={(event) => setServerClass(event.currentTarget.value)}
        />
        <Checkbox
          size="xs"
          label={`Only with errors, or silent (${grouped(wrong)})`}
          checked={isOnlyWrong}
          onChange={(event) => setOnlyWrong(event.currentTarget.checked)}
        />
      </div>
      {found.length === 0 ? (
        <Empty title="Nothing matches the filter" />
      ) : (
        <ListTable
          columns={[
            'Forwarder',
            'Last phone home',
            'Apps',
            'Server classes',
            'Address',
            'Machine',
            'Version',
            mayRemove && { hidden: 'Actions' },
          ]}
          label="Forwarders"
          className={styles.table}
          testId="forwarders"
        >
          {shown.map((forwarder) => (
            <Row
              key={forwarder.guid}
              forwarder={forwarder}
              now={now}
              onRemove={mayRemove ? () => setRemoved(forwarder) : null}
            />
          ))}
        </ListTable>
      )}
      <ShowAll shown={shown.length} all={found.length} onAll={() => setWhole(true)} />
      {removed && (
        <RemovalDialog
          title={`Remove ${removed.name} from the list?`}
          action="Remove"
          testId="remove-forwarder"
          remove={async () => {
            await client.removeObject(removed.path);
            await onRemoved();
          }}
          lists={[]}
          onClose={() => setRemoved(null)}
        >
          <p>
            The forwarder keeps its {plural(removed.apps.length, 'app')}, and is in the list again
            when it phones home. To prevent this, remove it from the server classes.
          </p>
        </RemovalDialog>
      )}
    </>
  );
}

interface RowProps {
  forwarder: Forwarder;
  now: number;
  onRemove: (() => void) | null;
}

function Row({ forwarder, now, onRemove }: RowProps) {
  const [zone] = useZone();
  const [isOpen, setOpen] = useState(false);
  const Icon = isOpen ? IconChevronDown : IconChevronRight;
  const silent = isSilent(forwarder, now);
  return (
    <Fragment>
      <tr data-testid="forwarder" data-error={hasError(forwarder) || undefined}>
        <td className={list.name}>
          <Button
            size="compact-sm"
            variant="subtle"
            leftSection={<Icon size={13} />}
            aria-expanded={isOpen}
            onClick={() => setOpen(!isOpen)}
          >
            {forwarder.name}
          </Button>
          {forwarder.host !== forwarder.name && (
            <span className={list.about}>{forwarder.host}</span>
          )}
        </td>
        <td className={list.nowrap} title={`${formatEpoch(forwarder.lastCall, zone)} ${zone}`}>
          <span className={styles.mark} data-is={silent ? 'warning' : 'good'}>
            {ago(now - forwarder.lastCall)}
            {silent && ', silent'}
          </span>
        </td>
        <td>
          <span className={styles.mark} data-is={hasError(forwarder) ? 'error' : 'good'}>
            {appsText(forwarder)}
          </span>
        </td>
        <td>{forwarder.classes.join(', ')}</td>
        <td className={list.nowrap}>{forwarder.ip}</td>
        <td className={list.nowrap}>{forwarder.machine}</td>
        <td className={list.nowrap}>{forwarder.version}</td>
        {onRemove && (
          <td>
            <Button
              size="compact-sm"
              variant="subtle"
              color="gray"
              aria-label={`Remove ${forwarder.name} from the list`}
              onClick={onRemove}
            >
              Remove …
            </Button>
          </td>
        )}
      </tr>
      {isOpen && (
        <tr data-testid="forwarder-apps">
          <td colSpan={onRemove ? 8 : 7}>
            <AppsOf apps={forwarder.apps} guid={forwarder.guid} />
          </td>
        </tr>
      )}
    </Fragment>
  );
}

const STATES: Record<DeployedApp['state'], string> = {
  installed: 'installed',
  pending: 'pending',
  failed: 'failed',
  missing: 'not distributed',
};

function AppsOf({ apps, guid }: { apps: DeployedApp[]; guid: string }) {
  return (
    <div className={styles.apps}>
      <p>
        GUID <code>{guid}</code>
      </p>
      {apps.length === 0 && <p>No app is assigned to it.</p>}
      <ul>
        {apps.map((app) => (
          <li key={app.name}>
            <b>{app.name}</b>{' '}
            <span
              className={styles.mark}
              data-is={
                app.state === 'failed' ? 'error' : app.state === 'installed' ? 'good' : 'warning'
              }
            >
              {app.action === 'Uninstall' ? 'to be removed' : STATES[app.state]}
            </span>{' '}
            <span>
              {app.classes.length > 0 && `by ${app.classes.join(', ')}`}
              {app.checksum !== '' && `, version ${shortChecksum(app.checksum)}`}
              {app.installedChecksum !== '' &&
                app.installedChecksum !== app.checksum &&
                `, has ${shortChecksum(app.installedChecksum)}`}
            </span>
            {app.reason && <pre>{app.reason}</pre>}
          </li>
        ))}
      </ul>
    </div>
  );
}

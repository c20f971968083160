/** Server classes with their patterns, and apps with their versions. */

import { grouped } from '../app/format';
import list from '../app/List.module.css';
import { ListTable } from '../app/ListTable';
import { Notice } from '../app/Notice';
import { size } from '../inspector/inspection';
import { Empty } from '../states/Empty';
import styles from './Deployment.module.css';
import { type RepositoryApp, type ServerClass, shortChecksum } from './deployment';

export function Classes({ classes }: { classes: ServerClass[] }) {
  if (classes.length === 0) return <Empty title="serverclass.conf has no server class" />;
  return (
    <ListTable
      columns={[
        'Server class',
        { numeric: 'Forwarders' },
        'Whitelist',
        'Blacklist',
        'Machine types',
        'Apps',
      ]}
      label="Server classes"
      className={styles.table}
      testId="classes"
    >
      {classes.map((one) => (
        <tr key={one.name}>
          <td className={list.name}>
            {one.name}
            {!one.continues && (
              <span className={list.about}> (last: continueMatching = false)</span>
            )}
          </td>
          <td data-numeric>{grouped(one.forwarders)}</td>
          <td>
            <Patterns patterns={one.whitelist} isDefault={one.filterType === 'blacklist'} />
          </td>
          <td>
            <Patterns patterns={one.blacklist} isDefault={false} />
          </td>
          <td>{one.machines || 'all'}</td>
          <td>
            {one.apps
              .map(({ name, restarts, state }) => {
                const notes = [restarts && 'restarts', state === 'disabled' && 'disabled'];
                const said = notes.filter(Boolean).join(', ');
                return said === '' ? name : `${name} (${said})`;
              })
              .join(', ') || 'none'}
          </td>
        </tr>
      ))}
    </ListTable>
  );
}

function Patterns({ patterns, isDefault }: { patterns: string[]; isDefault: boolean }) {
  if (patterns.length === 0) return isDefault ? 'all others' : '';
  return (
    <span className={styles.patterns}>
      {patterns.map((pattern) => (
        <code key={pattern}>{pattern}</code>
      ))}
    </span>
  );
}

export function Apps({ apps }: { apps: RepositoryApp[] }) {
  const refused = apps.filter(({ reason }) => reason !== '');
  if (apps.length === 0) {
    return (
      <Empty title="There is no app">
        <p>Each directory of deployment-apps that a server class names is an app.</p>
      </Empty>
    );
  }
  return (
    <>
      {refused.map(({ name, reason }) => (
        <Notice key={name} kind="error">{`${name} is not distributed: ${reason}`}</Notice>
      ))}
      <ListTable
        columns={[
          'App',
          { numeric: 'Installed' },
          { numeric: 'Failed' },
          'Server classes',
          'Version',
          { numeric: 'Files' },
          { numeric: 'Size' },
        ]}
        label="Apps"
        className={styles.table}
        testId="deployed-apps"
      >
        {apps.map((app) => (
          <tr key={app.name}>
            <td className={list.name}>{app.name}</td>
            <td data-numeric>{grouped(app.installed)}</td>
            <td data-numeric>
              <span className={styles.mark} data-is={app.failed > 0 ? 'error' : 'good'}>
                {grouped(app.failed)}
              </span>
            </td>
            <td>{app.classes.join(', ') || 'none'}</td>
            <td title={app.checksum}>
              <code>{app.reason ? 'not distributed' : shortChecksum(app.checksum)}</code>
            </td>
            <td data-numeric>{app.reason ? '' : grouped(app.files)}</td>
            <td data-numeric>{app.reason ? '' : size(app.size)}</td>
          </tr>
        ))}
      </ListTable>
    </>
  );
}

/**
 * The settings of the server by file, from their declarations: meaning, values, default, the value that is set
 * and where, and how to change it. Files are never written over REST: the page gives the lines.
 */

import { Button, Modal, TextInput } from '@mantine/core';
import { IconSearch } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError } from '../api/client';
import type { Entry } from '../api/types';
import { useClient } from '../app/clientContext';
import { plural } from '../app/format';
import { Notice } from '../app/Notice';
import { PageLink } from '../app/PageLink';
import { paths } from '../app/routing';
import { useTitle } from '../app/useTitle';
import jobs from '../jobs/JobsPage.module.css';
import { Snippet } from '../objects/Copyable';
import styles from '../objects/Objects.module.css';
import { Empty } from '../states/Empty';
import { Failed } from '../states/Failed';
import { Skeleton } from '../states/Skeleton';
import {
  CONF_FILES,
  confLines,
  isPattern,
  loadConfFile,
  type Setting,
  type Stanza,
} from './declarations';

/** What a user of this page can change at once. */
const LIVE_PATHS: Record<string, string> = {
  'server/general/sessionTimeout': '/services/server/settings/settings',
};

export function ConfPage({ file }: { file: string | null }) {
  return file === null ? <Files /> : <FilePage key={file} file={file} />;
}

function Files() {
  useTitle('Configuration files');
  return (
    <div className={jobs.page}>
      <header className={jobs.head}>
        <h1>Configuration files</h1>
        <span role="status">{plural(CONF_FILES.length, 'file')}</span>
      </header>
      <p className={styles.about}>
        Each file with its settings, their values and defaults. A server reads files from its
        configuration directory: system/local first, then the local and the default directories of
        apps.
      </p>
      <div className={jobs.scroll}>
        <table className={jobs.table} data-testid="conf-files">
          <thead>
            <tr>
              <th scope="col">File</th>
            </tr>
          </thead>
          <tbody>
            {CONF_FILES.map((name) => (
              <tr key={name}>
                <td className={jobs.name}>
                  <PageLink href={paths.settings('conf', name)}>{name}.conf</PageLink>
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

interface Chosen {
  stanza: Stanza;
  setting: Setting;
}

function FilePage({ file }: { file: string }) {
  useTitle(`${file}.conf`);
  const client = useClient();
  const [text, setText] = useState('');
  const [chosen, setChosen] = useState<Chosen | null>(null);
  const declared = useQuery({
    queryKey: ['declared', file],
    queryFn: () => loadConfFile(file),
    staleTime: Number.POSITIVE_INFINITY,
  });
  const values = useQuery({
    queryKey: ['conf', file],
    queryFn: ({ signal }) => client.entries(`/servicesNS/nobody/-/configs/conf-${file}`, signal),
  });
  const timeout = useQuery({
    queryKey: ['conf', 'server-settings'],
    enabled: file === 'server',
    queryFn: ({ signal }) => client.entries('/services/server/settings', signal),
  });
  const wanted = text.trim().toLowerCase();
  const conf = declared.data;
  if (declared.isPending) return <Skeleton lines={8} />;
  if (!conf) {
    return (
      <Empty title={`There are no declared settings of ${file}.conf`}>
        <PageLink className={styles.link} href={paths.settings('conf')}>
          All files
        </PageLink>
      </Empty>
    );
  }
  const stanzas = conf.stanzas
    .map((stanza) => ({
      ...stanza,
      settings: stanza.settings.filter((setting) =>
        `${stanza.name} ${setting.key} ${setting.about}`.toLowerCase().includes(wanted),
      ),
    }))
    .filter((stanza) => stanza.settings.length > 0);
  const count = stanzas.reduce((sum, stanza) => sum + stanza.settings.length, 0);
  const live = timeout.data?.[0]?.content.sessionTimeout;
  const set = (stanza: Stanza, setting: Setting) =>
    setting.key === 'sessionTimeout' && typeof live === 'string'
      ? { value: live, from: 'this server' }
      : settingIn(values.data ?? [], stanza, setting);

  return (
    <div className={jobs.page}>
      <header className={jobs.head}>
        <h1>{file}.conf</h1>
        <span role="status">{plural(count, 'setting')}</span>
        <div className={jobs.filters}>
          <PageLink className={styles.link} href={paths.settings('conf')}>
            All files
          </PageLink>
          <TextInput
            size="xs"
            aria-label="Filter settings"
            placeholder="Filter"
            leftSection={<IconSearch size={13} />}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
        </div>
      </header>
      {values.error instanceof ApiError && <Failed error={values.error} />}
      {stanzas.length === 0 && <Empty title="No setting fits the filter" />}
      {stanzas.map((stanza) => (
        <div key={stanza.name} className={jobs.scroll}>
          <table className={jobs.table} data-testid="settings">
            <caption className={styles.caption}>
              [{stanza.name}]
              {isPattern(stanza) && (
                <span className={styles.tag}>{namesOf(values.data ?? [], stanza)}</span>
              )}
            </caption>
            <thead>
              <tr>
                <th scope="col">Setting</th>
                <th scope="col">Value</th>
                <th scope="col">From</th>
                <th scope="col">Takes effect</th>
                <th scope="col">What it does</th>
              </tr>
            </thead>
            <tbody>
              {stanza.settings.map((setting) => {
                const now = isPattern(stanza) ? null : set(stanza, setting);
                return (
                  <tr key={setting.key}>
                    <td className={jobs.name}>
                      <Button
                        size="compact-xs"
                        variant="subtle"
                        onClick={() => setChosen({ stanza, setting })}
                      >
                        {setting.key}
                      </Button>
                    </td>
                    <td className={styles.cell} data-code="true">
                      {now?.value ?? setting.initial}
                    </td>
                    <td className={jobs.nowrap}>{now?.from ?? 'default'}</td>
                    <td className={jobs.nowrap}>{setting.isLive ? 'at once' : 'at the start'}</td>
                    <td>{setting.about}</td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
      ))}
      {wanted === '' && conf.withoutEffect.length > 0 && (
        <details>
          <summary>Settings of Splunk without effect here ({conf.withoutEffect.length})</summary>
          <p className={styles.about}>{conf.withoutEffect.join(', ')}</p>
        </details>
      )}
      {chosen && (
        <SettingDialog
          file={file}
          {...chosen}
          now={
            isPattern(chosen.stanza) ? null : (set(chosen.stanza, chosen.setting)?.value ?? null)
          }
          onClose={() => setChosen(null)}
        />
      )}
    </div>
  );
}

/** The value that is set in a stanza, and the app whose file or object has it. */
function settingIn(entries: Entry[], stanza: Stanza, setting: Setting) {
  for (const entry of entries) {
    if (entry.name !== stanza.name || entry.sharing === 'user') continue;
    const value = entry.content[setting.key];
    if (value === undefined || value === null) continue;
    const from = entry.app === 'system' ? 'system' : `app ${entry.app}`;
    return { value: String(value), from };
  }
  return null;
}

/** The stanzas that a pattern such as `<index>` stands for. */
function namesOf(entries: Entry[], stanza: Stanza): string {
  const [begin = ''] = stanza.name.split('<');
  const names = entries.map((entry) => entry.name).filter((name) => name.startsWith(begin));
  const most = 5;
  const more = names.length > most ? ` and ${names.length - most} more` : '';
  return names.length === 0 ? 'no stanza is set' : `set: ${names.slice(0, most).join(', ')}${more}`;
}

interface SettingDialogProps extends Chosen {
  file: string;
  now: string | null;
  onClose: () => void;
}

function SettingDialog({ file, stanza, setting, now, onClose }: SettingDialogProps) {
  const client = useClient();
  const queries = useQueryClient();
  const [value, setValue] = useState(now ?? setting.initial);
  const [failure, setFailure] = useState<ApiError | null>(null);
  const path = LIVE_PATHS[`${file}/${stanza.name}/${setting.key}`];
  const save = async (at: string) => {
    setFailure(null);
    try {
      await client.change(at, { [setting.key]: value });
      await queries.invalidateQueries({ queryKey: ['conf'] });
      onClose();
    } catch (reason) {
      setFailure(reason instanceof ApiError ? reason : new ApiError('server', 0, []));
    }
  };
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={`${setting.key} in [${stanza.name}]`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <div className={styles.form} data-testid="setting">
        {failure && <Notice kind="error">{failure.message}</Notice>}
        <p>{setting.about}</p>
        <TextInput
          label="Value"
          description={`${setting.type}. Default: ${setting.initial || 'none'}.`}
          data-autofocus
          spellCheck={false}
          value={value}
          onChange={(event) => setValue(event.currentTarget.value)}
        />
        {path ? (
          <div className={styles.buttons}>
            <Button onClick={() => void save(path)}>Save</Button>
          </div>
        ) : (
          <>
            <Snippet label={`system/local/${file}.conf`} text={confLines(stanza, setting, value)} />
            <p className={styles.help}>
              {setting.isLive
                ? 'Counts at once for objects that are made over REST, and from the next start in a file.'
                : 'Counts from the next start of the server.'}{' '}
              karst btool {file} --check finds mistakes before.
            </p>
          </>
        )}
      </div>
    </Modal>
  );
}

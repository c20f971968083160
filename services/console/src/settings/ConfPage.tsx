/**
 * The settings of the server in force, by file: value, default, where the value comes from, and when a change takes
 * effect. What REST changes is changed here and stored in the catalog, not in files. For other settings, the page
 * gives the lines of the file.
 */

import { Button, Checkbox, NativeSelect, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, Fragment, useState } from 'react';
import { useClient, useMe } from '../app/clientContext';
import { FilterInput } from '../app/FilterInput';
import { FormError } from '../app/FormError';
import { plural } from '../app/format';
import list from '../app/List.module.css';
import { ListTable } from '../app/ListTable';
import { Modal } from '../app/Modal';
import { PageLink } from '../app/PageLink';
import { addressOf, navigate, paths, useQuery as useQueryString } from '../app/routing';
import { ShowAll } from '../app/ShowAll';
import { asApiError, useSubmit } from '../app/useSubmit';
import { useTitle } from '../app/useTitle';
import { Snippet } from '../objects/Copyable';
import styles from '../objects/Objects.module.css';
import { Empty } from '../states/Empty';
import { Failed } from '../states/Failed';
import { NotAllowed } from '../states/NotAllowed';
import { Skeleton } from '../states/Skeleton';
import own from './ConfPage.module.css';
import {
  byFile,
  choicesOf,
  confLines,
  decodeSettings,
  effectText,
  isChanged,
  matching,
  mayChange,
  refusalOf,
  type ServerSetting,
  sourceText,
  stanzaLabel,
  valueProblem,
} from './serverSettings';

/** Rows at first: more are shown on demand. */
const MOST = 250;

export function ConfPage({ file }: { file: string | null }) {
  useTitle(file === null ? 'Configuration' : `${file}.conf`);
  const client = useClient();
  const me = useMe();
  const parameters = new URLSearchParams(useQueryString());
  const text = parameters.get('filter') ?? '';
  const isOnlyChanged = parameters.get('changed') === '1';
  const [isWhole, setWhole] = useState(false);
  const [chosen, setChosen] = useState<ServerSetting | null>(null);
  const isAllowed = me?.capabilities.has('list_settings') ?? false;
  const ask = (conf: string | null) => ({
    queryKey: ['settings', conf],
    queryFn: async ({ signal }: { signal: AbortSignal }) => {
      const query = { count: 0, ...(conf !== null && { conf }) };
      return decodeSettings(await client.get('/api/v1/settings', query, signal));
    },
  });
  // Of a file alone, the server also lists the stanzas that are built in.
  const all = useQuery({ ...ask(null), enabled: isAllowed });
  const { data, error, isPending, refetch } = useQuery({ ...ask(file), enabled: isAllowed });
  if (me && !isAllowed) return <NotAllowed capability="list_settings" />;

  const go = (conf: string | null, more: { filter?: string; changed?: boolean }) => {
    const filter = more.filter ?? text;
    const changed = more.changed ?? isOnlyChanged;
    const query = { filter: filter || undefined, changed: changed ? '1' : undefined };
    navigate(addressOf(paths.settings('conf', conf), query), { replace: conf === file });
  };
  const found = matching(data ?? [], { text, isOnlyChanged });
  const shown = isWhole ? found : found.slice(0, MOST);
  return (
    <div className={list.page}>
      <header className={list.head}>
        <h1>{file === null ? 'Configuration' : `${file}.conf`}</h1>
        {data && <span role="status">{plural(found.length, 'setting')}</span>}
        <div className={list.filters}>
          <Checkbox
            size="xs"
            label="Only changed"
            checked={isOnlyChanged}
            onChange={(event) => go(file, { changed: event.currentTarget.checked })}
          />
          <NativeSelect
            size="xs"
            aria-label="File"
            data={[{ value: '', label: 'All files' }, ...filesOf(all.data ?? [], file)]}
            value={file ?? ''}
            onChange={(event) => go(event.currentTarget.value || null, {})}
          />
          <FilterInput
            label="Filter settings"
            value={text}
            onChange={(filter) => go(file, { filter })}
          />
        </div>
      </header>
      <p className={styles.about}>
        The effective settings of this process. Values that are saved here have precedence over
        files. A server reads files from its configuration directory: system/local first, then the
        local and default directories of apps.
      </p>
      {isPending && <Skeleton lines={8} />}
      {error && <Failed error={asApiError(error)} onRetry={() => void refetch()} />}
      {data && found.length === 0 && (
        <Empty title={isOnlyChanged && text === '' ? 'No setting is changed' : 'Nothing matches'}>
          <div>
            <Button
              size="xs"
              variant="default"
              onClick={() => go(file, { filter: '', changed: false })}
            >
              Show all settings
            </Button>
          </div>
        </Empty>
      )}
      {byFile(shown).map(([conf, settings]) => (
        <File
          key={conf}
          conf={conf}
          settings={settings}
          isAlone={file !== null}
          onOpen={setChosen}
        />
      ))}
      <ShowAll shown={shown.length} all={found.length} onAll={() => setWhole(true)} />
      {chosen && <SettingDialog setting={chosen} onClose={() => setChosen(null)} />}
    </div>
  );
}

/** The files with their numbers of changed settings. */
function filesOf(settings: readonly ServerSetting[], file: string | null) {
  const files = byFile(settings).map(([conf, list]) => {
    const changed = list.filter(isChanged).length;
    return { value: conf, label: `${conf}.conf${changed > 0 ? ` (${changed} changed)` : ''}` };
  });
  const isKnown = file === null || files.some(({ value }) => value === file);
  return isKnown ? files : [...files, { value: file, label: `${file}.conf` }];
}

interface FileProps {
  conf: string;
  settings: ServerSetting[];
  isAlone: boolean;
  onOpen: (setting: ServerSetting) => void;
}

function File({ conf, settings, isAlone, onOpen }: FileProps) {
  return (
    <ListTable
      columns={['Setting', 'Value', 'Default', 'From', 'Takes effect']}
      label={`${conf}.conf`}
      className={own.table}
      testId="settings"
      caption={
        !isAlone && (
          <PageLink className={styles.link} href={paths.settings('conf', conf)}>
            {conf}.conf
          </PageLink>
        )
      }
    >
      {settings.map((setting) => (
        <tr key={`${setting.stanza}/${setting.stanzas}/${setting.name}`} data-testid="setting-row">
          <td className={own.setting}>
            <Button size="compact-sm" variant="subtle" onClick={() => onOpen(setting)}>
              {setting.name}
            </Button>
            <span>{stanzaLabel(setting)}</span>
            <p>{setting.about}</p>
          </td>
          <td className={own.value} data-changed={isChanged(setting) || undefined}>
            <ValueText value={setting.value} unit={setting.unit} />
            {setting.pending !== null && (
              <div className={own.pending}>
                after a restart: <ValueText value={setting.pending} unit={setting.unit} />
              </div>
            )}
          </td>
          <td className={own.value}>
            {isChanged(setting) && <ValueText value={setting.initial} unit={setting.unit} />}
          </td>
          <td className={own.place}>
            <Path text={sourceText(setting)} />
          </td>
          <td>{effectText(setting)}</td>
        </tr>
      ))}
    </ListTable>
  );
}

/** A path that breaks at its slashes. */
function Path({ text }: { text: string }) {
  return text.split(/(?<=\/)/).map((part, at) => (
    // biome-ignore lint/suspicious/noArrayIndexKey: parts of a path keep their places
    <Fragment key={at}>
      {part}
      <wbr />
    </Fragment>
  ));
}

function ValueText({ value, unit }: { value: string | null; unit: string }) {
  if (value === null || value === '') return <span className={own.none}>not set</span>;
  return (
    <>
      <code>{value}</code>
      {unit && <span className={own.unit}> {unit}</span>}
    </>
  );
}

interface SettingDialogProps {
  setting: ServerSetting;
  onClose: () => void;
}

function SettingDialog({ setting, onClose }: SettingDialogProps) {
  const client = useClient();
  const queries = useQueryClient();
  const me = useMe();
  const { busy, error, submit } = useSubmit();
  const initial = setting.pending ?? setting.value ?? '';
  const [value, setValue] = useState(setting.isSecret ? '' : initial);
  const [problem, setProblem] = useState<string | null>(null);
  const isEditable = mayChange(setting, me?.capabilities ?? new Set());
  const send = async (text: string) => {
    const path = setting.change;
    if (path === null) return;
    const isSaved = await submit(async () => {
      await client.change(path, { [setting.name]: text });
      await queries.invalidateQueries({ queryKey: ['settings'] });
    });
    if (isSaved) onClose();
  };
  const save = (event: FormEvent) => {
    event.preventDefault();
    if (!isEditable) return;
    const found = valueProblem(setting, value);
    setProblem(found);
    if (found === null) void send(value.trim());
  };
  const choices = choicesOf(setting);
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title={`${setting.name} of ${stanzaLabel(setting)} in ${setting.conf}.conf`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form className={styles.form} onSubmit={save} data-testid="setting" noValidate>
        <FormError error={error} />
        <p>{setting.about}</p>
        <Facts setting={setting} />
        {choices.length > 0 ? (
          <NativeSelect
            label="New value"
            data-autofocus
            data={[...new Set([value, ...choices])]}
            value={value}
            onChange={(event) => setValue(event.currentTarget.value)}
          />
        ) : (
          <TextInput
            label="New value"
            description={setting.type}
            error={problem}
            data-autofocus
            autoComplete="off"
            spellCheck={false}
            inputMode={setting.kind === 'number' ? 'numeric' : undefined}
            value={value}
            onChange={(event) => setValue(event.currentTarget.value)}
          />
        )}
        {isEditable ? (
          <>
            {setting.isStored && (
              <p className={styles.help}>
                Reset removes the value that is saved here: that of the files, or the default,
                applies again.
              </p>
            )}
            <div className={styles.buttons}>
              {setting.isStored && (
                <Button variant="default" disabled={busy} onClick={() => void send('')}>
                  Reset
                </Button>
              )}
              <Button variant="default" onClick={onClose}>
                Cancel
              </Button>
              <Button type="submit" loading={busy}>
                Save
              </Button>
            </div>
          </>
        ) : (
          <Lines setting={setting} value={value} />
        )}
      </form>
    </Modal>
  );
}

function Facts({ setting }: { setting: ServerSetting }) {
  const facts: [string, string | null][] = [
    ['Value', setting.value ?? 'not set'],
    ['Value after a restart', setting.pending === '' ? 'not set' : setting.pending],
    ['Default', setting.initial ?? 'none'],
    ['Type', setting.type],
    ['Unit', setting.unit],
    ['From', sourceText(setting)],
    ['A change takes effect', effectText(setting)],
  ];
  return (
    <dl className={own.facts}>
      {facts
        .filter(([, fact]) => fact !== null && fact !== '')
        .map(([name, fact]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{fact}</dd>
          </div>
        ))}
    </dl>
  );
}

/** The lines of the file, for a setting that cannot be changed here. */
function Lines({ setting, value }: { setting: ServerSetting; value: string }) {
  const isIndex = setting.conf === 'indexes' && setting.stanza !== null;
  return (
    <>
      <Snippet label={`system/local/${setting.conf}.conf`} text={confLines(setting, value)} />
      <p className={styles.help}>
        {refusalOf(setting)} karst btool {setting.conf} --check finds mistakes before the restart.
        {isIndex && (
          <>
            {' '}
            Some settings of an index are changed{' '}
            <PageLink className={styles.link} href={paths.data('indexes', setting.stanza ?? '')}>
              on its page
            </PageLink>
            .
          </>
        )}
      </p>
    </>
  );
}

/**
 * The list of the objects of a kind, with what can be done with each. The object that is open is in the address.
 * Leaves the meaning of columns and fields to the kind.
 */

import { Button, Menu } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type ReactNode, useState } from 'react';
import { ApiError, namespaced } from '../api/client';
import type { Entry } from '../api/types';
import { useClient, useLacking } from '../app/clientContext';
import { FilterInput } from '../app/FilterInput';
import { plural } from '../app/format';
import list from '../app/List.module.css';
import { ListTable } from '../app/ListTable';
import { Notice } from '../app/Notice';
import { PageLink } from '../app/PageLink';
import { RowMenu } from '../app/RowMenu';
import { addressOf, navigate, paths, useQuery as useQueryString } from '../app/routing';
import { ShowAll } from '../app/ShowAll';
import { useTitle } from '../app/useTitle';
import { Visible } from '../app/Visible';
import { Empty } from '../states/Empty';
import { Failed } from '../states/Failed';
import { NotAllowed } from '../states/NotAllowed';
import { Skeleton } from '../states/Skeleton';
import { DEFAULT_RANGE } from '../time/timeRange';
import { copyOf, givenValues } from './form';
import { isTrue, type Kind } from './kind';
import { isChangeable, ObjectDialog } from './ObjectDialog';
import styles from './Objects.module.css';
import { RemoveDialog } from './RemoveDialog';
import { ShareDialog } from './ShareDialog';

interface ObjectsPageProps {
  kind: Kind;
  app: string;
  /** The object of the address; `_new` for the form of a new one. */
  name: string | null;
  /** The address of an object, or of the list. */
  href: (name: string | null) => string;
  /** Above the table. */
  children?: ReactNode;
}

/** Rows of a table at first: more are shown on demand. */
const MOST = 200;
const SHARING: Record<string, string> = { user: 'private', app: 'app', global: 'all apps' };

const whose = (entry: Entry) => `${entry.owner}/${entry.app}`;

export function useObjects(kind: Kind) {
  const client = useClient();
  const path = kind.isOfApps ? namespaced({ owner: '-', app: '-' }, kind.path) : kind.path;
  return useQuery({
    queryKey: ['objects', kind.path],
    queryFn: ({ signal }) => client.entries(path, signal),
  });
}

export function ObjectsPage({ kind, app, name, href, children }: ObjectsPageProps) {
  useTitle(kind.title);
  const lacking = useLacking(kind.capability);
  const { data, error, isPending, refetch } = useObjects(kind);
  const [text, setText] = useState('');
  const [isWhole, setWhole] = useState(false);
  const [doomed, setDoomed] = useState<Entry | null>(null);
  const [shared, setShared] = useState<Entry | null>(null);
  const [copied, setCopied] = useState<Entry | null>(null);
  const [failure, setFailure] = useState<ApiError | null>(null);
  const parameters = new URLSearchParams(useQueryString());
  const of = parameters.get('of');

  const all = (data ?? []).filter((entry) => kind.isShown?.(entry) ?? true);
  const wanted = text.trim().toLowerCase();
  const matching = all.filter((entry) =>
    [entry.name, entry.app, entry.owner, ...kind.columns.map((column) => column.text(entry))]
      .join(' ')
      .toLowerCase()
      .includes(wanted),
  );
  const shown = isWhole ? matching : matching.slice(0, MOST);
  const mayChange = lacking === null;
  const refused = name === '_new' ? lacking : null;
  const named = all.filter((entry) => entry.name === name);
  const open = named.find((entry) => whose(entry) === of) ?? named[0] ?? null;
  // A page that leads to the form of a new object is shown again after it.
  const back = parameters.get('back') ?? '';
  const isBack = name === '_new' && /^\/data\/add\/[a-z]+$/.test(back);
  const close = () => navigate(isBack ? back : href(null));

  return (
    <div className={list.page}>
      <header className={list.head}>
        <h1>{kind.title}</h1>
        {data && <span role="status">{plural(matching.length, kind.noun)}</span>}
        <div className={list.filters}>
          <FilterInput
            label={`Filter ${kind.title.toLowerCase()}`}
            value={text}
            onChange={setText}
          />
          {mayChange && kind.fields.length > 0 && (
            <Button
              size="xs"
              leftSection={<IconPlus size={14} />}
              onClick={() => navigate(href('_new'))}
              data-testid="new-object"
            >
              New {kind.noun}
            </Button>
          )}
        </div>
      </header>
      <p className={styles.about}>{kind.about}</p>
      {children}
      {failure && <Notice kind="error">{failure.message}</Notice>}
      {refused && <NotAllowed capability={refused} />}
      {isPending && <Skeleton lines={6} />}
      {error instanceof ApiError && !refused && (
        <Failed error={error} onRetry={() => void refetch()} />
      )}
      {data && name !== null && name !== '_new' && !open && (
        <Notice kind="warning">{`There is no ${kind.noun} "${name}", or you may not see it.`}</Notice>
      )}
      {data && shown.length === 0 && (
        <Empty
          title={all.length === 0 ? `There is no ${kind.noun} yet` : 'Nothing matches the filter'}
        />
      )}
      {shown.length > 0 && (
        <ListTable
          columns={[
            'Name',
            ...kind.columns.map(({ label, isNumeric }) => (isNumeric ? { numeric: label } : label)),
            kind.isOfApps && 'App',
            kind.isOfApps && 'Owner, shared with',
            { hidden: 'Actions' },
          ]}
          testId="objects"
        >
          {shown.map((entry) => (
            <Row
              key={`${whose(entry)}/${entry.path}/${entry.name}`}
              kind={kind}
              app={app}
              entry={entry}
              mayChange={mayChange}
              onCopy={setCopied}
              href={addressOf(href(entry.name), kind.isOfApps ? { of: whose(entry) } : {})}
              onShare={setShared}
              onRemove={setDoomed}
              onFailure={setFailure}
            />
          ))}
        </ListTable>
      )}
      <ShowAll shown={shown.length} all={matching.length} onAll={() => setWhole(true)} />
      {name === '_new' && mayChange && (
        <ObjectDialog
          kind={kind}
          app={app}
          entry={null}
          given={givenValues(kind.fields, parameters)}
          onClose={close}
          onMade={(values) => (isBack || !kind.after ? close() : navigate(kind.after(values)))}
        />
      )}
      {copied && (
        <ObjectDialog
          kind={kind}
          app={app}
          entry={null}
          given={copyOf(kind.fields, copied)}
          onClose={() => setCopied(null)}
        />
      )}
      {open && kind.fields.length > 0 && (
        <ObjectDialog key={open.path} kind={kind} app={app} entry={open} onClose={close} />
      )}
      {doomed && <RemoveDialog kind={kind} entry={doomed} onClose={() => setDoomed(null)} />}
      {shared && <ShareDialog kind={kind} entry={shared} onClose={() => setShared(null)} />}
    </div>
  );
}

interface RowProps {
  kind: Kind;
  app: string;
  entry: Entry;
  mayChange: boolean;
  href: string;
  onCopy: (entry: Entry) => void;
  onShare: (entry: Entry) => void;
  onRemove: (entry: Entry) => void;
  onFailure: (error: ApiError | null) => void;
}

function Row({ kind, entry, href, ...props }: RowProps) {
  const isOff = isTrue(entry.content.disabled);
  return (
    <tr data-testid="object-row">
      <td className={list.name}>
        {kind.fields.length > 0 ? (
          <PageLink href={href}>
            <Visible text={entry.name} />
          </PageLink>
        ) : (
          <Visible text={entry.name} />
        )}
        {isOff && <span className={styles.tag}>disabled</span>}
      </td>
      {kind.columns.map((column) => {
        const text = column.text(entry);
        return (
          <td
            key={column.label}
            className={styles.cell}
            data-code={column.isCode || undefined}
            data-numeric={column.isNumeric || undefined}
            title={text}
          >
            <div>
              <Visible text={text} />
            </div>
          </td>
        );
      })}
      {kind.isOfApps && <td>{entry.app}</td>}
      {kind.isOfApps && (
        <td className={list.nowrap}>
          {entry.owner}, {SHARING[entry.sharing] ?? entry.sharing}
        </td>
      )}
      <td>
        <Actions kind={kind} entry={entry} href={href} {...props} />
      </td>
    </tr>
  );
}

function Actions({ kind, app, entry, mayChange, href, ...props }: RowProps) {
  const { onCopy, onShare, onRemove, onFailure } = props;
  const client = useClient();
  const queries = useQueryClient();
  const isWritable = mayChange && isChangeable(kind, entry);
  const isRemovable = isWritable && (kind.isRemovable?.(entry) ?? entry.isRemovable);
  const isOff = isTrue(entry.content.disabled);
  const toggle = isOff ? 'enable' : 'disable';
  const actions = kind.actions?.(entry) ?? [];
  const search = kind.search?.(entry) ?? null;
  const place = kind.isOfApps && entry.app !== 'system' ? entry.app : app;
  if (entry.links.includes(toggle)) {
    actions.push({ label: isOff ? 'Enable' : 'Disable', path: `${entry.path}/${toggle}` });
  }
  const act = (path: string, form: Record<string, string | string[]> = {}) => {
    onFailure(null);
    client.change(path, form).then(
      () => queries.invalidateQueries({ queryKey: ['objects', kind.path] }),
      (reason: unknown) =>
        onFailure(reason instanceof ApiError ? reason : new ApiError('server', 0, [])),
    );
  };
  return (
    <RowMenu name={entry.name}>
      {search !== null && (
        <Menu.Item
          onClick={() => navigate(addressOf(paths.search(place), { q: search, ...DEFAULT_RANGE }))}
        >
          Open in search
        </Menu.Item>
      )}
      {kind.fields.length > 0 && (
        <Menu.Item onClick={() => navigate(href)}>{isWritable ? 'Edit …' : 'Show …'}</Menu.Item>
      )}
      {kind.isCopied && (
        <Menu.Item disabled={!mayChange} onClick={() => onCopy(entry)}>
          Clone …
        </Menu.Item>
      )}
      {actions.map((action) => (
        <Menu.Item
          key={action.label}
          disabled={!isWritable}
          onClick={() => act(action.path, action.form)}
        >
          {action.label}
        </Menu.Item>
      ))}
      {kind.isOfApps && (
        <Menu.Item disabled={!isWritable} onClick={() => onShare(entry)}>
          Permissions …
        </Menu.Item>
      )}
      <Menu.Item color="red" disabled={!isRemovable} onClick={() => onRemove(entry)}>
        Delete …
      </Menu.Item>
    </RowMenu>
  );
}

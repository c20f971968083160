/** Lookup files: the list, a file as a table of its first rows, and uploads. */

import { Button, FileButton } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useRef, useState } from 'react';
import { ApiError, namespaced } from '../api/client';
import { useClient, useConnection, useMe } from '../app/clientContext';
import { plural } from '../app/format';
import { ListTable } from '../app/ListTable';
import { Modal } from '../app/Modal';
import { Notice } from '../app/Notice';
import { navigate, paths } from '../app/routing';
import type { Form, Kind } from '../objects/kind';
import styles from '../objects/Objects.module.css';
import { ObjectsPage, useObjects } from '../objects/ObjectsPage';
import { Failed } from '../states/Failed';
import { Skeleton } from '../states/Skeleton';
import { csvRows } from './csv';
import { type CsvMistakes, mistakesOfFile, mistakesOfText } from './csvMistakes';

const lookupFiles: Kind = {
  title: 'Lookup files',
  noun: 'lookup file',
  about: 'Tables in CSV with a header line. A lookup assigns a name and rules to a table.',
  path: '/services/data/lookup-table-files',
  isOfApps: true,
  capability: 'upload_lookup_files',
  columns: [
    { label: 'Path', text: (entry) => String(entry.content['eai:data'] ?? ''), isCode: true },
  ],
  fields: [
    {
      name: 'name',
      label: 'Name',
      kind: 'text',
      isRequired: true,
      when: 'new',
      help: 'Such as prices.csv',
      check: (text) => (/\.csv(?:\.gz)?$/.test(text.trim()) ? null : 'The name must end with .csv'),
    },
    {
      name: 'contents',
      label: 'Content',
      kind: 'area',
      isRequired: true,
      when: 'new',
      initial: 'name,value\n',
      check: (text) => mistakesOfText(text).refused[0] ?? null,
    },
  ],
  loss: (entry) =>
    `The rows of ${entry.name} are removed. Lookups with this file, and the searches that use them, will fail.`,
};

/** Rows of a file that are shown. */
const MOST = 100;

export function LookupFiles({ name, app }: { name: string | null; app: string }) {
  const { username } = useConnection();
  const client = useClient();
  const queries = useQueryClient();
  const me = useMe();
  const { data } = useObjects(lookupFiles);
  const [failure, setFailure] = useState<ApiError | null>(null);
  const open = name === '_new' ? null : (data?.find((entry) => entry.name === name) ?? null);
  const href = (next: string | null) => paths.settings('lookups', next);

  /** A file that is not uploaded, or not yet. */
  const [held, setHeld] = useState<{ file: File; mistakes: CsvMistakes } | null>(null);
  // The same file may be chosen again, after its mistakes were corrected.
  const forget = useRef<() => void>(null);

  const check = async (file: File | null) => {
    setFailure(null);
    setHeld(null);
    if (!file) return;
    forget.current?.();
    const mistakes = mistakesOfFile(new Uint8Array(await file.arrayBuffer()));
    if (mistakes.refused.length + mistakes.warnings.length > 0) setHeld({ file, mistakes });
    else await upload(file);
  };
  const upload = async (file: File) => {
    setHeld(null);
    try {
      const contents = await file.text();
      const mine = data?.find((entry) => entry.name === file.name && entry.app === app);
      const collection = namespaced({ owner: username, app }, lookupFiles.path);
      const form: Form = mine ? { contents } : { name: file.name, contents };
      await client.change(mine?.path ?? collection, form);
      await queries.invalidateQueries({ queryKey: ['objects', lookupFiles.path] });
      await queries.invalidateQueries({ queryKey: ['lookup-file'] });
      await queries.invalidateQueries({ queryKey: ['options'] });
    } catch (reason) {
      setFailure(reason instanceof ApiError ? reason : new ApiError('server', 0, []));
    }
  };
  return (
    <>
      <ObjectsPage kind={lookupFiles} name={name === '_new' ? name : null} app={app} href={href}>
        {failure && <Notice kind="error">{failure.message}</Notice>}
        {held && (
          <HeldFile
            {...held}
            onUpload={() => void upload(held.file)}
            onClose={() => setHeld(null)}
          />
        )}
        {me?.capabilities.has(lookupFiles.capability) && (
          <div>
            <FileButton
              resetRef={forget}
              onChange={(file) => void check(file)}
              accept=".csv,text/csv"
            >
              {(props) => (
                <Button size="xs" variant="default" {...props}>
                  Upload a file …
                </Button>
              )}
            </FileButton>
          </div>
        )}
      </ObjectsPage>
      {open && <FileView name={open.name} path={open.path} onClose={() => navigate(href(null))} />}
    </>
  );
}

interface HeldFileProps {
  file: File;
  mistakes: CsvMistakes;
  onUpload: () => void;
  onClose: () => void;
}

function HeldFile({ file, mistakes, onUpload, onClose }: HeldFileProps) {
  const { refused, warnings } = mistakes;
  const isRefused = refused.length > 0;
  const text = isRefused
    ? `The file ${file.name} was not uploaded:`
    : `The file ${file.name} is not uploaded yet:`;
  return (
    <Notice
      kind={isRefused ? 'error' : 'warning'}
      action={
        <div className={styles.buttons}>
          {!isRefused && (
            <Button size="compact-xs" variant="default" onClick={onUpload}>
              Upload anyway
            </Button>
          )}
          <Button size="compact-xs" variant="default" onClick={onClose}>
            {isRefused ? 'Close' : 'Cancel'}
          </Button>
        </div>
      }
    >
      {[text, ...refused, ...warnings].join('\n')}
    </Notice>
  );
}

function FileView({ name, path, onClose }: { name: string; path: string; onClose: () => void }) {
  const client = useClient();
  const { data, error, isPending } = useQuery({
    queryKey: ['lookup-file', path],
    queryFn: ({ signal }) => client.fileText(path, signal),
  });
  const rows = data === undefined ? [] : csvRows(data);
  const [header = [], ...body] = rows;
  return (
    <Modal
      opened
      onClose={onClose}
      size="xl"
      title={`Lookup file ${name}`}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <div className={styles.form}>
        {isPending && <Skeleton lines={4} />}
        {error instanceof ApiError && <Failed error={error} />}
        {data !== undefined && (
          <>
            <p role="status">
              {plural(body.length, 'row')}
              {body.length > MOST && `, the first ${MOST} of them here`}
            </p>
            <ListTable columns={header} label={`Rows of ${name}`} testId="lookup-rows">
              {body.slice(0, MOST).map((row, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name
                <tr key={at}>
                  {row.map((cell, place) => (
                    // biome-ignore lint/suspicious/noArrayIndexKey: cells have no other name
                    <td key={place}>{cell}</td>
                  ))}
                </tr>
              ))}
            </ListTable>
          </>
        )}
      </div>
    </Modal>
  );
}

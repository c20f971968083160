/**
 * A file or a pasted text: loaded into an index by the rules of its source type, with the report of the server and
 * the first events as they are read. The server has no preview of a text that is not loaded: a test index is one.
 */

import { Button, FileButton, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { ApiError } from '../api/client';
import { explainError } from '../api/explain';
import type { ResultRows } from '../api/types';
import { useClient } from '../app/clientContext';
import { Notice } from '../app/Notice';
import { PageLink } from '../app/PageLink';
import { addressOf, paths } from '../app/routing';
import jobs from '../jobs/JobsPage.module.css';
import { useOptions } from '../objects/FormFields';
import objects from '../objects/Objects.module.css';
import { quoted } from '../query/syntax';
import { cellText } from '../statistics/table';
import styles from './AddData.module.css';
import { type LoadReport, readLoadReport, sampleOf } from './loadReport';

/** Bytes of a request; the limit of the server is 64 MiB unless it was told otherwise. */
const MOST = 64 * 1024 * 1024;
const LINES = 30;

interface Done {
  report: LoadReport;
  where: string;
  rows: ResultRows | null;
}

export function LoadText({ app, isPasted }: { app: string; isPasted: boolean }) {
  const client = useClient();
  const indexes = useOptions({ name: 'index', label: 'Index', kind: 'choice', source: 'indexes' });
  const [text, setText] = useState('');
  const [file, setFile] = useState<File | null>(null);
  const [sample, setSample] = useState('');
  const [index, setIndex] = useState('main');
  const [sourcetype, setSourcetype] = useState('');
  const [host, setHost] = useState('');
  const [source, setSource] = useState('');
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<ApiError | null>(null);
  const [done, setDone] = useState<Done | null>(null);
  const isTooLarge = (file?.size ?? 0) > MOST;
  const isReady = isPasted ? text.trim() !== '' : file !== null && !isTooLarge;

  const choose = (next: File | null) => {
    setFile(next);
    setDone(null);
    setSource(next?.name ?? '');
    next
      ?.slice(0, 64 * 1024)
      .text()
      .then(setSample, () => setSample(''));
  };

  const load = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setError(null);
    setDone(null);
    const name = source.trim() || (isPasted ? 'pasted' : 'upload');
    const query: Record<string, string> = { index, source: name, report: '1' };
    if (sourcetype.trim()) query.sourcetype = sourcetype.trim();
    if (host.trim()) query.host = host.trim();
    try {
      const body = isPasted ? text : (file as File);
      const report = readLoadReport(
        await client.sendBody('/services/receivers/simple', body, query),
      );
      const where = `index=${quoted(index)} source=${quoted(name)}`;
      setDone({ report, where, rows: null });
      const search = `search ${where} _index_earliest=-1m | head 10 | table _time host sourcetype _raw`;
      const rows = await client.rowsOf({ search, earliest: '0', latest: '', timezone: 'UTC' });
      setDone({ report, where, rows });
      client.removeJob(rows.sid).catch(() => {});
    } catch (failure) {
      setError(failure instanceof ApiError ? failure : new ApiError('server', 0, []));
    }
    setBusy(false);
  };
  const shown = sampleOf(isPasted ? text : sample, LINES);

  return (
    <form className={styles.columns} onSubmit={load} data-testid="load-form">
      <div>
        {!isPasted && (
          <>
            <FileButton onChange={choose}>
              {(props) => (
                <Button variant="default" {...props}>
                  Choose a file …
                </Button>
              )}
            </FileButton>
            <span role="status">{file ? file.name : 'No file is chosen'}</span>
            {isTooLarge && (
              <Notice kind="warning">
                Files above 64 MiB are loaded on the machine of the server: karst add oneshot PATH.
              </Notice>
            )}
          </>
        )}
        <NativeSelect
          label="Index"
          description="For a try, make an index of its own under Indexes and remove it afterwards."
          data={indexes.length > 0 ? indexes : ['main']}
          value={index}
          onChange={(event) => setIndex(event.currentTarget.value)}
        />
        <TextInput
          label="Source type"
          description="Empty: recognised by the content."
          value={sourcetype}
          spellCheck={false}
          onChange={(event) => setSourcetype(event.currentTarget.value)}
        />
        <TextInput
          label="Source"
          value={source}
          spellCheck={false}
          onChange={(event) => setSource(event.currentTarget.value)}
        />
        <TextInput
          label="Host"
          description="Empty: that of the server."
          value={host}
          spellCheck={false}
          onChange={(event) => setHost(event.currentTarget.value)}
        />
        <Button type="submit" loading={busy} disabled={!isReady}>
          Load
        </Button>
      </div>
      <div>
        {isPasted ? (
          <Textarea
            className={objects.mono}
            label="Text"
            autosize
            minRows={10}
            maxRows={20}
            spellCheck={false}
            value={text}
            onChange={(event) => setText(event.currentTarget.value)}
          />
        ) : (
          file && (
            <>
              <span>The beginning of the file, as it is: {shown.about.split(',')[0]}</span>
              {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keys */}
              <pre className={styles.raw} tabIndex={0}>
                {shown.head}
              </pre>
            </>
          )
        )}
        {isPasted && text !== '' && <span>{shown.about}</span>}
        {error && (
          <Notice kind="error">{`${error.message}\n${explainError(error).advice}`.trim()}</Notice>
        )}
        {done && <Report app={app} {...done} />}
      </div>
    </form>
  );
}

function Report({ app, report, where, rows }: Done & { app: string }) {
  return (
    <section className={styles.report} aria-live="polite" data-testid="load-report">
      <h2>
        Loaded: {report.events} {report.events === 1 ? 'event' : 'events'}
        {report.sourcetype && ` of the source type ${report.sourcetype}`}
      </h2>
      {report.span && <p>{report.span}</p>}
      {report.notes.map((note) => (
        <Notice key={note} kind="info">
          {note}
        </Notice>
      ))}
      {rows && rows.rows.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways is reached by keys
        <section className={jobs.scroll} tabIndex={0} aria-label="First events">
          <table className={jobs.table}>
            <thead>
              <tr>
                {rows.fields.map((field) => (
                  <th key={field} scope="col">
                    {field}
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {rows.rows.map((row, at) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: rows have no other name
                <tr key={at}>
                  {row.map((cell, place) => (
                    <td key={rows.fields[place]}>{cellText(cell)}</td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      <PageLink
        className={objects.link}
        href={addressOf(paths.search(app), { q: where, earliest: '0', latest: '' })}
      >
        Search these events
      </PageLink>
    </section>
  );
}

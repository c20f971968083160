/**
 * A file or a pasted text: a preview of its events by settings that can be tried, then the load into an index.
 * Guarantees that a text is loaded only by settings that are saved, which are those of its preview.
 */

import { Button, FileButton, NativeSelect, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type DragEvent, type FormEvent, useId, useRef, useState } from 'react';
import { useClient } from '../app/clientContext';
import { FormError } from '../app/FormError';
import { Notice } from '../app/Notice';
import { useZone } from '../app/preferences';
import { useSubmit } from '../app/useSubmit';
import { useUnsaved } from '../app/useUnsaved';
import { useOptions } from '../objects/FormFields';
import objects from '../objects/Objects.module.css';
import { quoted } from '../query/syntax';
import { sourceTypes } from '../settings/knowledgeKinds';
import { Empty } from '../states/Empty';
import { Failed } from '../states/Failed';
import { Skeleton } from '../states/Skeleton';
import { indexes as indexKind } from './indexKind';
import { type Loaded, LoadReportView } from './LoadReport';
import { readLoadReport, sizeOf } from './loadReport';
import styles from './Preview.module.css';
import { PreviewView } from './PreviewView';
import { PropsForm, type Tried } from './PropsForm';
import { type FieldPair, isEmptyPreview, mistakeIn, overruled, shortPlace } from './preview';
import { RETENTIONS, retentionWarning, type Span } from './retention';
import { SaveSourceType } from './SaveSourceType';
import { readTextFile, type TextFile } from './textFile';
import { MOST_BYTES, type Sample, usePreview } from './usePreview';

/** Bytes of a request; the limit of the server is 64 MiB unless it was told otherwise. */
const MOST = 64 * 1024 * 1024;
/** Events that are shown at first, and added on demand. */
const SOME = 200;
/** The server shows no more, unless max_results_perchunk is changed. */
const ALL = 2_500;

const NONE: Tried = new Map();

export function LoadText({ app, isPasted }: { app: string; isPasted: boolean }) {
  const client = useClient();
  const [zone] = useZone();
  const indexes = useOptions({ name: 'index', label: 'Index', kind: 'choice', source: 'indexes' });
  const [text, setText] = useState('');
  const [file, setFile] = useState<TextFile | null>(null);
  const choices = useRef(0);
  const [sample, setSample] = useState<Sample | null>(null);
  const [index, setIndex] = useState('main');
  const [sourcetype, setSourcetype] = useState('');
  const [host, setHost] = useState('');
  const [source, setSource] = useState('');
  const [tried, setTried] = useState<Tried>(NONE);
  const [count, setCount] = useState(SOME);
  const [isSaving, setSaving] = useState(false);
  const [saved, setSaved] = useState<{ name: string; settings: FieldPair[] } | null>(null);
  const [done, setDone] = useState<Loaded | null>(null);
  /** What was loaded, and how: a second load of the same would store its events twice. */
  const [loaded, setLoaded] = useState('');
  const { busy, error, submit } = useSubmit();
  const isTaken = file !== null && !file.isTooLarge && file.refusal === null;
  const hasText = isPasted ? text.trim() !== '' : isTaken;
  const name = source.trim() || (isPasted ? 'pasted' : 'upload');
  const asked = { sample, source: name, host, index, sourcetype, tried, count };
  const { preview, error: refusal, isStale, retry } = usePreview(asked);
  const mistake = refusal ? mistakeIn(refusal.message, tried.keys()) : null;
  const chosen = JSON.stringify([sample?.version, index, name, sourcetype, host]);
  const isLoaded = loaded === chosen;
  const isEmpty = isEmptyPreview(preview, isStale);
  const mayLoad = hasText && !isLoaded && !isEmpty && tried.size === 0;
  const { question } = useUnsaved(
    isPasted && text.trim() !== '' && !isLoaded,
    'The lines that you pasted are not loaded.',
  );
  const isSaved = !isStale && tried.size === 0 && saved?.name === preview?.sourcetype;
  const other = preview && saved && isSaved ? overruled(preview, saved.settings) : [];
  const kept = useRetention(index);
  const warningOf = (times: Span, isAfter: boolean) =>
    retentionWarning(times, { index, seconds: kept }, Date.now() / 1_000, zone, isAfter);
  const warning =
    preview && !isLoaded
      ? warningOf({ ...preview.totals, isPart: !preview.isComplete }, false)
      : null;

  const show = (bytes: Uint8Array<ArrayBuffer> | null) => {
    setSample((before) => bytes && { bytes, version: (before?.version ?? 0) + 1 });
    setCount(SOME);
    setDone(null);
    setLoaded('');
  };
  const paste = (next: string) => {
    setText(next);
    show(next.trim() === '' ? null : new TextEncoder().encode(next.slice(0, MOST_BYTES)));
  };
  const choose = async (chosen: File | null) => {
    choices.current += 1;
    const choice = choices.current;
    setFile(null);
    show(null);
    const next = chosen && (await readTextFile(chosen, MOST));
    const start = await (next?.refusal === null ? next.text : null)
      ?.slice(0, MOST_BYTES)
      .arrayBuffer();
    // Unpacking takes a while, in which another file may be chosen.
    if (choice !== choices.current) return;
    setFile(next);
    setSource(next?.name ?? '');
    show(start ? new Uint8Array(start) : null);
  };

  const load = async (event: FormEvent) => {
    event.preventDefault();
    if (!mayLoad) return;
    setDone(null);
    await submit(async () => {
      const query: Record<string, string> = { index, source: name, report: '1' };
      if (sourcetype.trim()) query.sourcetype = sourcetype.trim();
      if (host.trim()) query.host = host.trim();
      const body = isPasted || file === null ? text : file.text;
      const report = readLoadReport(
        await client.sendBody('/services/receivers/simple', body, query),
        zone,
      );
      const where = `index=${quoted(index)} source=${quoted(name)}`;
      setLoaded(chosen);
      const said = { report, where, warning: warningOf(report.times, true) };
      setDone({ ...said, rows: null });
      const search = `search ${where} _index_earliest=-1m | head 10 | table _time host sourcetype _raw`;
      const rows = await client.rowsOf({ search, earliest: '0', latest: '', timezone: 'UTC' });
      setDone({ ...said, rows });
      client.removeJob(rows.sid).catch(() => {});
    });
  };

  return (
    <>
      <form className={objects.form} onSubmit={load} data-testid="load-form">
        {isPasted ? (
          <Textarea
            className={objects.mono}
            label="Text"
            description={text === '' ? undefined : sizeOf(text)}
            autosize
            minRows={5}
            maxRows={12}
            spellCheck={false}
            value={text}
            onChange={(event) => paste(event.currentTarget.value)}
          />
        ) : (
          <FileSource file={file} onFile={(next) => void choose(next)} />
        )}
        <div className={styles.target}>
          <NativeSelect
            label="Index"
            description="Index for the events."
            data={indexes.length > 0 ? indexes : ['main']}
            value={index}
            onChange={(event) => setIndex(event.currentTarget.value)}
          />
          <SourceType
            value={sourcetype}
            recognised={preview?.sourcetype}
            onChange={setSourcetype}
          />
          <TextInput
            label="Source"
            description="A path or a name."
            placeholder={name}
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
        </div>
        <div className={styles.act}>
          <Button type="submit" loading={busy} disabled={!mayLoad}>
            Load
          </Button>
          {isLoaded && (
            <span role="status">Loaded. To load again, change the text or a setting.</span>
          )}
          {tried.size > 0 && (
            <>
              <Button
                variant="default"
                disabled={!preview || isStale || refusal !== null}
                onClick={() => setSaving(true)}
                data-testid="save-as"
              >
                Save as source type …
              </Button>
              <Button variant="default" onClick={() => setTried(NONE)}>
                Undo all changes
              </Button>
              <span role="status">
                Changed settings apply only to the preview: save them before you load the text.
              </span>
            </>
          )}
        </div>
        <FormError error={error} />
      </form>
      {question}
      {other.map((setting) => (
        <Notice key={setting.name} kind="warning">
          {`${setting.name} is not in effect as saved: ${setting.place ? shortPlace(setting.place) : 'another stanza'} has precedence.`}
        </Notice>
      ))}
      {warning && (
        <div data-testid="retention">
          <Notice kind="warning">{warning}</Notice>
        </div>
      )}
      {done && <LoadReportView app={app} {...done} />}
      {sample === null ? (
        <Empty title={isPasted ? 'Paste some lines of a log' : 'Choose a file'}>
          <p>
            The events, their times and fields are shown here as the server would index them.
            Nothing is stored before Load.
          </p>
        </Empty>
      ) : (
        <div className={styles.columns}>
          <section aria-label="Settings of the source type">
            <h2>Settings</h2>
            <PropsForm
              settings={preview?.settings ?? []}
              tried={tried}
              mistake={mistake}
              onTried={setTried}
            />
          </section>
          <section aria-label="Preview of the events">
            <h2>Preview</h2>
            {mistake && (
              <Notice kind="error">
                {`${mistake.name}: ${mistake.problem}. ${preview ? 'The events below are from before the change.' : ''}`}
              </Notice>
            )}
            {refusal && !mistake && <Failed error={refusal} onRetry={retry} />}
            {!preview && !refusal && <Skeleton lines={6} label="Waiting for the preview" />}
            {preview && (
              <PreviewView
                preview={preview}
                isStale={isStale}
                onMore={
                  preview.totals.shown < Math.min(preview.totals.events, ALL) &&
                  preview.totals.shown >= count
                    ? () => setCount(Math.min(ALL, count + SOME))
                    : null
                }
              />
            )}
          </section>
        </div>
      )}
      {isSaving && preview && (
        <SaveSourceType
          preview={preview}
          onSaved={(called, settings) => {
            setSourcetype(called);
            setSaved({ name: called, settings });
            setTried(NONE);
            setSample((now) => now && { ...now, version: now.version + 1 });
          }}
          onClose={() => setSaving(false)}
        />
      )}
    </>
  );
}

/** `frozenTimePeriodInSecs` of an index; null until it is known, and for a user who may not read it. */
function useRetention(index: string): number | null {
  const client = useClient();
  const { data } = useQuery({
    queryKey: RETENTIONS,
    staleTime: 30_000,
    queryFn: ({ signal }) =>
      client.entries(indexKind.path, signal, { f: 'frozenTimePeriodInSecs' }),
  });
  const entry = data?.find((one) => one.name === index);
  const seconds = Number(entry?.content.frozenTimePeriodInSecs ?? 'NaN');
  return Number.isFinite(seconds) ? seconds : null;
}

interface FileSourceProps {
  file: TextFile | null;
  onFile: (file: File | null) => void;
}

/** A file that is chosen or dropped. */
function FileSource({ file, onFile }: FileSourceProps) {
  const [isOver, setOver] = useState(false);
  const drop = (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    const [dropped] = event.dataTransfer.files;
    if (dropped) onFile(dropped);
  };
  return (
    <section
      className={styles.source}
      aria-label="File"
      data-over={isOver}
      data-testid="drop"
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={drop}
    >
      <div className={styles.chooser}>
        <FileButton onChange={onFile}>
          {(props) => (
            <Button variant="default" {...props}>
              Choose a file …
            </Button>
          )}
        </FileButton>
        <span role="status">{file ? file.name : 'or drop one here'}</span>
      </div>
      {file && file.refusal !== null && (
        <Notice kind="error">{`${file.name}: ${file.refusal}.`}</Notice>
      )}
      {file?.isTooLarge && file.refusal === null && (
        <Notice kind="warning">
          Load texts larger than 64 MiB on the machine of the server: karst add oneshot PATH. The
          preview shows the beginning.
        </Notice>
      )}
    </section>
  );
}

interface SourceTypeProps {
  value: string;
  recognised: string | undefined;
  onChange: (value: string) => void;
}

function SourceType({ value, recognised, onChange }: SourceTypeProps) {
  const client = useClient();
  const names = useId();
  const { data } = useQuery({
    queryKey: ['source-type-names'],
    staleTime: 60_000,
    queryFn: async ({ signal }) => {
      const path = `/servicesNS/-/-${sourceTypes.path.slice('/services'.length)}`;
      const found = await client.entries(path, signal, { f: 'category' });
      const isShown = sourceTypes.isShown ?? (() => true);
      return [...new Set(found.filter(isShown).map((entry) => entry.name))];
    },
  });
  return (
    <>
      <TextInput
        label="Source type"
        description={recognised && value === '' ? 'Recognised.' : 'Empty: recognised.'}
        placeholder={value === '' ? recognised : undefined}
        list={names}
        value={value}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
      <datalist id={names}>
        {(data ?? []).map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </>
  );
}

/**
 * The editor of a dashboard: by form, or its source beside what it shows. Lossless: the text is what is changed
 * and stored, comments and unknown parts as they are.
 */

import { ActionIcon, Button, Group, SegmentedControl, Skeleton, Tooltip } from '@mantine/core';
import { IconArrowBackUp, IconArrowForwardUp } from '@tabler/icons-react';
import { lazy, Suspense, useCallback, useDeferredValue, useEffect, useMemo, useState } from 'react';
import type { ApiError } from '../../api/client';
import { Notice } from '../../app/Notice';
import { useUnsaved } from '../../app/useUnsaved';
import { begun, changed, redone, undone } from '../edit/history';
import { findingText } from '../model/features';
import { readDashboard } from '../model/reader';
import type { Dashboard } from '../model/types';
import { XmlError } from '../model/xml';
import type { TimePreset, ViewInfo } from '../runtime/server';
import { useConnection } from '../useConnection';
import { replaceQuery } from './address';
import styles from './DashboardEditor.module.css';
import { DashboardView } from './DashboardView';
import { ConflictDialog } from './dialogs';
import { saveUnlessChanged } from './saving';
import type { Mark } from './XmlEditor';

const XmlEditor = lazy(() => import('./XmlEditor'));
const FormEditor = lazy(async () => ({
  default: (await import('../edit/FormEditor')).FormEditor,
}));

/** Milliseconds after the last key before the preview runs the searches of the text. */
const QUIET = 800;

interface DashboardEditorProps {
  view: ViewInfo;
  times: readonly TimePreset[];
  onClose: () => void;
  onSaved: () => void;
}

interface Checked {
  dashboard: Dashboard | null;
  marks: Mark[];
}

function check(text: string): Checked {
  try {
    const dashboard = readDashboard(text);
    const marks = dashboard.report.findings.map(
      (finding): Mark => ({
        line: finding.line,
        severity:
          finding.level === 'none' ? 'error' : finding.level === 'part' ? 'warning' : 'info',
        text: findingText(finding),
      }),
    );
    return { dashboard, marks };
  } catch (error) {
    if (!(error instanceof XmlError)) throw error;
    return {
      dashboard: null,
      marks: [{ line: error.line, severity: 'error', text: error.message }],
    };
  }
}

type Mode = 'form' | 'source';

/** The way of editing that the address names. */
const modeOf = (): Mode =>
  new URLSearchParams(window.location.search).get('mode') === 'source' ? 'source' : 'form';

function writeMode(mode: Mode): void {
  const query = new URLSearchParams(window.location.search);
  if (mode === 'source') query.set('mode', 'source');
  else query.delete('mode');
  replaceQuery(query);
}

/** A mark in front of the text belongs to the file, and places are counted without it. */
const MARK = '\uFEFF';
const withoutMark = (text: string) => (text.startsWith(MARK) ? text.slice(MARK.length) : text);

export function DashboardEditor({ view, times, onClose, onSaved }: DashboardEditorProps) {
  const { server } = useConnection();
  const mark = view.text.startsWith(MARK) ? MARK : '';
  const [history, setHistory] = useState(() => begun(withoutMark(view.text)));
  const { text } = history;
  const [saved, setSaved] = useState(text);
  /** What the server had when the text was read or saved. */
  const [base, setBase] = useState(view.text);
  /** What somebody else has saved meanwhile, while the user is asked. */
  const [theirs, setTheirs] = useState<ViewInfo | null>(null);
  /** Texts that were put in place of the typed one: the source begins anew with each. */
  const [taken, setTaken] = useState(0);
  const [mode, setMode] = useState<Mode>(modeOf);
  const [line, setLine] = useState<number | null>(null);
  const [error, setError] = useState<ApiError | null>(null);
  const [isSaving, setSaving] = useState(false);
  const [isSaved, setWasSaved] = useState(false);
  const { dashboard, marks } = useMemo(() => check(text), [text]);
  const isChanged = text !== saved;
  const unsaved = useUnsaved(isChanged, `The changes of ${view.label} are not saved.`);
  const edit = useCallback(
    (change: (text: string) => string) => setHistory((now) => changed(now, change(now.text))),
    [],
  );
  const type = useCallback((next: string) => setHistory((now) => changed(now, next, true)), []);

  // A form has no text of its own to undo in, beside its fields.
  useEffect(() => {
    if (mode !== 'form') return;
    const press = (event: KeyboardEvent) => {
      const isUndo = (event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'z';
      const target = event.target as HTMLElement;
      if (!isUndo || target.closest('input, textarea, [contenteditable]')) return;
      event.preventDefault();
      setHistory(event.shiftKey ? redone : undone);
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, [mode]);

  const choose = (next: Mode, at: number | null = null) => {
    writeMode(next);
    setLine(at);
    setMode(next);
  };
  const save = async (known: string) => {
    setSaving(true);
    setError(null);
    setTheirs(null);
    try {
      const other = await saveUnlessChanged(server, view, known, mark + text);
      setTheirs(other);
      if (other) return;
      setBase(mark + text);
      setSaved(text);
      setWasSaved(true);
      onSaved();
    } catch (problem) {
      setError(problem as ApiError);
    } finally {
      setSaving(false);
    }
  };
  /** Their text in place of the own one, which Undo of the form brings back. */
  const take = (other: ViewInfo) => {
    const next = withoutMark(other.text);
    setHistory((now) => changed(now, next));
    setSaved(next);
    setBase(other.text);
    setTheirs(null);
    setTaken((count) => count + 1);
    setWasSaved(false);
    onSaved();
  };
  const close = () => {
    const go = () => {
      writeMode('form');
      onClose();
    };
    if (isChanged) unsaved.ask(go);
    else go();
  };
  const mistake = marks.find((mark) => mark.severity === 'error');
  // What is no dashboard that can be drawn is a text.
  const isForm = mode === 'form' && dashboard !== null && dashboard.report.level !== 'none';
  return (
    <div className={styles.editor} data-testid="editor">
      <header className={styles.header}>
        <h1>Edit {view.label}</h1>
        <Group gap={8}>
          <span role="status" className={styles.status}>
            {isSaved && !isChanged ? 'Saved' : ''}
          </span>
          <SegmentedControl
            size="xs"
            aria-label="Way of editing"
            value={isForm ? 'form' : 'source'}
            data={[
              { value: 'form', label: 'Form', disabled: dashboard === null },
              { value: 'source', label: 'Source' },
            ]}
            onChange={(next) => choose(next as Mode)}
          />
          {isForm && (
            <>
              <Step
                label="Undo"
                isPossible={history.past.length > 0}
                onStep={() => setHistory(undone)}
              />
              <Step
                label="Redo"
                isPossible={history.future.length > 0}
                onStep={() => setHistory(redone)}
              />
            </>
          )}
          <Button size="compact-sm" variant="default" onClick={close}>
            {isChanged ? 'Cancel' : 'Close'}
          </Button>
          <Button
            size="compact-sm"
            onClick={() => void save(base)}
            loading={isSaving}
            disabled={!isChanged || dashboard === null || !view.canWrite}
            data-testid="save"
          >
            Save
          </Button>
        </Group>
      </header>
      {unsaved.question}
      {theirs && (
        <ConflictDialog
          name={view.label}
          onOverwrite={() => void save(theirs.text)}
          onShow={() => take(theirs)}
          onClose={() => setTheirs(null)}
        />
      )}
      {!view.canWrite && (
        <Notice kind="info">You may not change this dashboard. Clone it to make your own.</Notice>
      )}
      {error && <Notice kind="error">{error.message}</Notice>}
      {mistake && <Notice kind="error">{`Line ${mistake.line}: ${mistake.text}`}</Notice>}
      <Suspense fallback={<Skeleton height={400} />}>
        {isForm ? (
          <FormEditor
            view={view}
            times={times}
            text={text}
            onEdit={edit}
            onSource={(at) => choose('source', at)}
          />
        ) : (
          <SourceEditor
            key={taken}
            view={view}
            times={times}
            text={text}
            marks={marks}
            line={line}
            onChange={type}
          />
        )}
      </Suspense>
    </div>
  );
}

interface StepProps {
  label: 'Undo' | 'Redo';
  isPossible: boolean;
  onStep: () => void;
}

function Step({ label, isPossible, onStep }: StepProps) {
  const Icon = label === 'Undo' ? IconArrowBackUp : IconArrowForwardUp;
  return (
    <Tooltip label={label === 'Undo' ? 'Undo (Ctrl+Z)' : 'Redo (Ctrl+Shift+Z)'}>
      <ActionIcon aria-label={label} disabled={!isPossible} onClick={onStep}>
        <Icon size={16} />
      </ActionIcon>
    </Tooltip>
  );
}

interface SourceEditorProps {
  view: ViewInfo;
  times: readonly TimePreset[];
  text: string;
  marks: Mark[];
  line: number | null;
  onChange: (text: string) => void;
}

function SourceEditor({ view, times, text, marks, line, onChange }: SourceEditorProps) {
  const [shownText, setShownText] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setShownText(text), QUIET);
    return () => clearTimeout(timer);
  }, [text]);

  // A text with a mistake leaves what was shown before.
  const [preview, setPreview] = useState<Dashboard | null>(() => check(text).dashboard);
  const deferred = useDeferredValue(shownText);
  useEffect(() => {
    const next = check(deferred).dashboard;
    if (next) setPreview(next);
  }, [deferred]);
  return (
    <div className={styles.sides}>
      <XmlEditor text={text} marks={marks} line={line} onChange={onChange} />
      <section className={styles.preview} aria-label="Preview">
        {preview && preview.report.level !== 'none' && (
          <DashboardView dashboard={preview} app={view.app} view={view.name} times={times} />
        )}
      </section>
    </div>
  );
}

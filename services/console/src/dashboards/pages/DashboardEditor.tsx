/**
 * The source of a dashboard beside what it shows. Lossless: what is typed is what is stored, comments and unknown
 * parts as they are.
 */

import { Button, Group, Skeleton } from '@mantine/core';
import { lazy, Suspense, useDeferredValue, useEffect, useMemo, useState } from 'react';
import type { ApiError } from '../../api/client';
import { Notice } from '../../app/Notice';
import { findingText } from '../model/features';
import { readDashboard } from '../model/reader';
import type { Dashboard } from '../model/types';
import { XmlError } from '../model/xml';
import type { TimePreset, ViewInfo } from '../runtime/server';
import { useConnection } from '../useConnection';
import styles from './DashboardEditor.module.css';
import { DashboardView } from './DashboardView';
import type { Mark } from './XmlEditor';

const XmlEditor = lazy(() => import('./XmlEditor'));

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

export function DashboardEditor({ view, times, onClose, onSaved }: DashboardEditorProps) {
  const { username, server } = useConnection();
  const [text, setText] = useState(view.text);
  const [saved, setSaved] = useState(view.text);
  const [shownText, setShownText] = useState(view.text);
  const [error, setError] = useState<ApiError | null>(null);
  const [isSaving, setSaving] = useState(false);
  const [isSaved, setWasSaved] = useState(false);
  const { dashboard, marks } = useMemo(() => check(text), [text]);
  const isChanged = text !== saved;
  const query = useMemo(() => new URLSearchParams(window.location.search), []);

  useEffect(() => {
    const timer = setTimeout(() => setShownText(text), QUIET);
    return () => clearTimeout(timer);
  }, [text]);

  useEffect(() => {
    if (!isChanged) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener('beforeunload', warn);
    return () => window.removeEventListener('beforeunload', warn);
  }, [isChanged]);

  // A text with a mistake leaves what was shown before.
  const [preview, setPreview] = useState<Dashboard | null>(() => check(view.text).dashboard);
  const deferred = useDeferredValue(shownText);
  useEffect(() => {
    const next = check(deferred).dashboard;
    if (next) setPreview(next);
  }, [deferred]);

  const save = async () => {
    setSaving(true);
    setError(null);
    try {
      await server.saveView(view, text);
      setSaved(text);
      setWasSaved(true);
      onSaved();
    } catch (problem) {
      setError(problem as ApiError);
    } finally {
      setSaving(false);
    }
  };
  const close = () => {
    if (!isChanged || window.confirm('Leave without saving your changes?')) onClose();
  };
  const mistake = marks.find((mark) => mark.severity === 'error');
  return (
    <div className={styles.editor} data-testid="editor">
      <header className={styles.header}>
        <h1>Edit {view.label}</h1>
        <Group gap={8}>
          <span role="status" className={styles.status}>
            {isSaved && !isChanged ? 'Saved' : ''}
          </span>
          <Button size="compact-sm" variant="default" onClick={close}>
            {isChanged ? 'Cancel' : 'Close'}
          </Button>
          <Button
            size="compact-sm"
            onClick={() => void save()}
            loading={isSaving}
            disabled={!isChanged || dashboard === null || !view.canWrite}
            data-testid="save"
          >
            Save
          </Button>
        </Group>
      </header>
      {!view.canWrite && (
        <Notice kind="info">You may not change this dashboard. Clone it to make your own.</Notice>
      )}
      {error && <Notice kind="error">{error.message}</Notice>}
      {mistake && <Notice kind="error">{`Line ${mistake.line}: ${mistake.text}`}</Notice>}
      <div className={styles.sides}>
        <Suspense fallback={<Skeleton height={400} />}>
          <XmlEditor text={view.text} marks={marks} onChange={setText} />
        </Suspense>
        <section className={styles.preview} aria-label="Preview">
          {preview && preview.report.level !== 'none' && (
            <DashboardView
              dashboard={preview}
              app={view.app}
              view={view.name}
              username={username}
              server={server}
              query={query}
              times={times}
            />
          )}
        </section>
      </div>
    </div>
  );
}

/** One line on the job: its state, what it has read and found, and what can be done with it. */

import { ActionIcon, Button, Menu, Tooltip } from '@mantine/core';
import { IconDeviceFloppy, IconPlayerPause, IconPlayerPlay, IconTrash } from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { ApiError, isAbort, type JobRequest, type KarstClient } from '../api/client';
import type { JobAction, JobStatus } from '../api/types';
import { ConfirmDialog } from '../app/ConfirmDialog';
import { useConnection } from '../app/clientContext';
import dot from '../app/Dot.module.css';
import { grouped } from '../app/format';
import { PageLink } from '../app/PageLink';
import { useZone } from '../app/preferences';
import { paths } from '../app/routing';
import { CompletenessBadge } from './CompletenessBadge';
import { CostChip } from './CostChip';
import { judge, lacksEvents } from './completeness';
import type { FileKind } from './download';
import styles from './JobBar.module.css';
import { SaveReport } from './SaveReport';
import type { SearchState } from './searchRun';
import { reportOf, type SearchRequest } from './urlState';

const OverwriteReport = lazy(() => import('./OverwriteReport'));
const SavePanel = lazy(() => import('./SavePanel'));
const ShareJob = lazy(() => import('./ShareJob'));

interface JobBarProps {
  client: KarstClient;
  app: string;
  /** The report of the address, which the search may be saved to. */
  report: string | null;
  state: SearchState;
  onControl: (action: JobAction) => void;
  /** The job goes on when the page is left. */
  onKeep: () => void;
}

export function JobBar({ client, app, report, state, onControl, onKeep }: JobBarProps) {
  const { phase, job } = state;
  const judgement = judge(state);
  if (phase === 'idle' || phase === 'held') return null;
  const isRunning = phase === 'starting' || phase === 'running';
  const isUnknown = isRunning && !job?.doneProgress;
  const progress = job && !isRunning ? 1 : (job?.doneProgress ?? 0);
  return (
    <div className={styles.bar} data-testid="job" data-phase={phase}>
      <span className={`${dot.dot} ${styles.state}`} data-phase={phase}>
        {stateName(state)}
      </span>
      {judgement && <CompletenessBadge judgement={judgement} />}
      {job && <Counts job={job} />}
      <div
        className={styles.track}
        role="progressbar"
        aria-label="Search progress"
        // Without a value it is read as running, not as 0 %.
        aria-valuenow={isUnknown ? undefined : Math.round(progress * 100)}
        aria-valuemin={0}
        aria-valuemax={100}
        data-visible={isRunning}
      >
        <div
          className={styles.fill}
          data-unknown={isUnknown}
          style={{ width: `${isUnknown ? 100 : progress * 100}%` }}
        />
      </div>
      <span className={styles.actions}>
        {phase === 'done' && state.sid && <CostChip sid={state.sid} onOpen={onKeep} />}
        {isRunning && job && state.sid && (
          <>
            <PageLink className={styles.cost} href={paths.inspect(state.sid)} onClick={onKeep}>
              Inspect
            </PageLink>
            <RunningActions job={job} onControl={onControl} />
          </>
        )}
        {state.sid && state.request && phase !== 'cancelled' && (
          <SaveMenu
            client={client}
            app={app}
            report={report}
            sid={state.sid}
            request={state.request}
            job={job}
            isDone={phase === 'done'}
            onKeep={onKeep}
          />
        )}
      </span>
    </div>
  );
}

function stateName({ phase, job }: SearchState): string {
  if (phase === 'starting') return 'Starting';
  if (phase === 'failed') return 'Failed';
  if (phase === 'cancelled') return 'Cancelled';
  if (phase === 'done') return job?.isFinalized ? 'Stopped early' : 'Done';
  if (job?.isPaused) return 'Paused';
  const name = (job?.dispatchState ?? 'running').toLowerCase();
  return name.charAt(0).toUpperCase() + name.slice(1);
}

function Counts({ job }: { job: JobStatus }) {
  return (
    <span className={styles.counts}>
      <span data-testid="matched">
        <b>{grouped(job.eventCount)}</b> {job.eventCount === 1 ? 'event matches' : 'events match'}
      </span>
      {job.reportSearch !== null && (
        <span>
          <b>{grouped(job.resultPreviewCount)}</b> {job.resultPreviewCount === 1 ? 'row' : 'rows'}
        </span>
      )}
      <span>{grouped(job.scanCount)} scanned</span>
      <span>{job.runDuration.toFixed(job.runDuration < 10 ? 2 : 1)} s</span>
      {job.doneProgress < 1 && !job.isDone && <span>{Math.round(job.doneProgress * 100)}%</span>}
    </span>
  );
}

interface RunningActionsProps {
  job: JobStatus;
  onControl: (action: JobAction) => void;
}

function RunningActions({ job, onControl }: RunningActionsProps) {
  const pauseLabel = job.isPaused ? 'Resume' : 'Pause';
  return (
    <>
      <Tooltip label={pauseLabel}>
        <ActionIcon
          size="sm"
          variant="subtle"
          color="gray"
          aria-label={pauseLabel}
          onClick={() => onControl(job.isPaused ? 'unpause' : 'pause')}
        >
          {job.isPaused ? <IconPlayerPlay size={14} /> : <IconPlayerPause size={14} />}
        </ActionIcon>
      </Tooltip>
      <Tooltip label="Cancel and discard">
        <ActionIcon
          size="sm"
          variant="subtle"
          color="gray"
          aria-label="Cancel and discard"
          onClick={() => onControl('cancel')}
        >
          <IconTrash size={14} />
        </ActionIcon>
      </Tooltip>
    </>
  );
}

interface SaveMenuProps {
  client: KarstClient;
  app: string;
  report: string | null;
  sid: string;
  request: SearchRequest;
  job: JobStatus | null;
  isDone: boolean;
  onKeep: () => void;
}

/** Events of a file for which its reader is asked first. */
const MANY_EVENTS = 1_000_000;

function SaveMenu(props: SaveMenuProps) {
  const { client, app, report, sid, request, job, isDone, onKeep } = props;
  const { username } = useConnection();
  const [timezone] = useZone();
  const [failure, setFailure] = useState<string | null>(null);
  const [said, setSaid] = useState<string | null>(null);
  const [saving, setSaving] = useState<'overwrite' | 'report' | 'panel' | 'share' | null>(null);
  const [asked, setAsked] = useState<FileKind | null>(null);
  /** Ends the export that runs. */
  const [running, setRunning] = useState<AbortController | null>(null);
  const attempt = (action: Promise<string | null>) => {
    setFailure(null);
    setSaid(null);
    action.then(setSaid, (error: unknown) => {
      setSaid(null);
      if (isAbort(error)) return;
      setFailure(error instanceof ApiError ? error.message : 'The file could not be saved.');
    });
  };
  const fileOf = async (kind: FileKind, finished: JobStatus, signal: AbortSignal) => {
    const { resultsFile, saveFile } = await import('./download');
    // The range that was searched, not the one that was asked for: "now" is another time by now.
    const of: JobRequest = {
      search: request.query.trim() || '*',
      earliest: finished.earliestTime || '0',
      latest: finished.latestTime,
      timezone,
      namespace: { owner: username, app },
    };
    const told = (rows: number) =>
      setSaid(`Saving: ${grouped(rows)} of ${grouped(finished.eventCount)} events`);
    const results = { sid, job: finished, request: of };
    const { file, missing } = await resultsFile(client, results, kind, told, signal);
    saveFile(file, `karst-${sid}.${kind}`);
    return missing;
  };
  const save = (kind: FileKind) => {
    if (!job) return;
    const controller = new AbortController();
    setRunning(controller);
    attempt(fileOf(kind, job, controller.signal).finally(() => setRunning(null)));
  };
  const mayExport = job !== null && lacksEvents(job) && !job.isFinalized;
  const choose = (kind: FileKind) =>
    mayExport && job.eventCount > MANY_EVENTS ? setAsked(kind) : save(kind);
  const keep = () => {
    onKeep();
    attempt(client.control(sid, 'save').then(() => 'Kept for 7 days'));
  };
  return (
    <>
      <span role="status" className={styles.said}>
        {said}
      </span>
      {running && mayExport && (
        <Button size="compact-sm" variant="subtle" onClick={() => running.abort()}>
          Stop saving
        </Button>
      )}
      {failure && (
        <span role="alert" className={styles.failure}>
          {failure}
        </span>
      )}
      <Menu position="bottom-end">
        <Menu.Target>
          <Button
            size="compact-sm"
            variant="subtle"
            color="gray"
            leftSection={<IconDeviceFloppy size={14} />}
            data-testid="save"
          >
            Save
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {report && (
            <Menu.Item onClick={() => setSaving('overwrite')} data-testid="save-overwrite">
              To the report {reportOf(report, app).name} …
            </Menu.Item>
          )}
          <Menu.Item onClick={() => setSaving('report')} data-testid="save-report">
            As report …
          </Menu.Item>
          <Menu.Item onClick={() => setSaving('panel')} data-testid="save-panel">
            As dashboard panel …
          </Menu.Item>
          <Menu.Item onClick={keep}>Keep the job for 7 days</Menu.Item>
          <Menu.Item disabled={!job} onClick={() => setSaving('share')} data-testid="share">
            Share the job …
          </Menu.Item>
          <Menu.Divider />
          <Menu.Item disabled={!isDone || running !== null} onClick={() => choose('csv')}>
            Results as CSV
          </Menu.Item>
          <Menu.Item disabled={!isDone || running !== null} onClick={() => choose('json')}>
            Results as JSON
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {asked && (
        <ConfirmDialog
          title="Save all events?"
          action="Save"
          testId="save-all"
          onConfirm={async () => save(asked)}
          onClose={() => setAsked(null)}
        >
          <p>
            The file will have {grouped(job?.eventCount ?? 0)} events. The search runs again for it,
            and this page collects them.
          </p>
        </ConfirmDialog>
      )}
      {saving === 'overwrite' && report && (
        <Suspense fallback={null}>
          <OverwriteReport
            app={app}
            link={report}
            request={request}
            onClose={() => setSaving(null)}
            onSaved={(name) => setSaid(`Saved to ${name}`)}
          />
        </Suspense>
      )}
      {saving === 'panel' && (
        <Suspense fallback={null}>
          <SavePanel
            app={app}
            request={request}
            reportSearch={job?.reportSearch ?? null}
            onClose={() => setSaving(null)}
          />
        </Suspense>
      )}
      {saving === 'share' && job && (
        <Suspense fallback={null}>
          <ShareJob
            client={client}
            app={app}
            sid={sid}
            request={request}
            job={job}
            onKeep={onKeep}
            onClose={() => setSaving(null)}
          />
        </Suspense>
      )}
      {saving === 'report' && (
        <SaveReport
          app={app}
          request={request}
          onClose={() => setSaving(null)}
          onSaved={(name) => setSaid(`Saved as ${name}`)}
        />
      )}
    </>
  );
}

/** One line on the job: its state, what it has read and found, and what can be done with it. */

import { ActionIcon, Button, Menu, Tooltip } from '@mantine/core';
import { IconDownload, IconPlayerPause, IconPlayerPlay, IconTrash } from '@tabler/icons-react';
import { useState } from 'react';
import { ApiError, type KarstClient } from '../api/client';
import type { JobAction, JobStatus } from '../api/types';
import { grouped } from '../app/format';
import { type FileKind, saveJobResults } from './download';
import styles from './JobBar.module.css';
import type { SearchState } from './searchRun';

interface JobBarProps {
  client: KarstClient;
  state: SearchState;
  onControl: (action: JobAction) => void;
}

export function JobBar({ client, state, onControl }: JobBarProps) {
  const { phase, job } = state;
  if (phase === 'idle') return null;
  const isRunning = phase === 'starting' || phase === 'running';
  const isUnknown = isRunning && !job?.doneProgress;
  const progress = job && !isRunning ? 1 : (job?.doneProgress ?? 0);
  return (
    <div className={styles.bar} data-testid="job" data-phase={phase}>
      <span className={styles.state} data-phase={phase}>
        {stateName(state)}
      </span>
      {job && <Counts job={job} />}
      <div
        className={styles.track}
        role="progressbar"
        aria-label="Search progress"
        aria-valuenow={Math.round(progress * 100)}
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
        {isRunning && job && <RunningActions job={job} onControl={onControl} />}
        {phase === 'done' && state.sid && <SaveMenu client={client} sid={state.sid} />}
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

function SaveMenu({ client, sid }: { client: KarstClient; sid: string }) {
  const [failure, setFailure] = useState<string | null>(null);
  const save = (kind: FileKind) => {
    setFailure(null);
    saveJobResults(client, sid, kind).catch((error: unknown) =>
      setFailure(error instanceof ApiError ? error.message : 'The file could not be saved.'),
    );
  };
  return (
    <>
      {failure && <span className={styles.failure}>{failure}</span>}
      <Menu position="bottom-end">
        <Menu.Target>
          <Button
            size="compact-xs"
            variant="subtle"
            color="gray"
            leftSection={<IconDownload size={13} />}
          >
            Save
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => save('csv')}>Results as CSV</Menu.Item>
          <Menu.Item onClick={() => save('json')}>Results as JSON</Menu.Item>
        </Menu.Dropdown>
      </Menu>
    </>
  );
}

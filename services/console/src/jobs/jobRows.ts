/** The rows of the jobs page: who, what, how far, and the words for it. */

import type { JobCost, JobStatuses, ListedJob } from '../api/types';
import { plural } from '../app/format';

export type StateFilter = 'all' | 'running' | 'done' | 'failed';

export interface JobRow extends ListedJob {
  cost: JobCost | null;
}

export interface JobFilter {
  state: StateFilter;
  /** Empty: of everybody. */
  user: string;
  /** Empty: of all apps. */
  app: string;
  /** Whether those are listed that pages run for themselves: panels, inputs, the home page. */
  withPages: boolean;
  text: string;
}

export const isRunning = ({ status }: ListedJob): boolean => !status.isDone && !status.isFailed;

/** What the list said, brought up to date by the last status; jobs that are gone are left out. */
export function rowsOf(listed: ListedJob[], statuses: JobStatuses | null): JobRow[] {
  const gone = new Set(statuses?.unknown);
  return listed
    .filter((job) => !gone.has(job.sid))
    .map((job) => {
      const latest = statuses?.jobs.get(job.sid);
      return { ...job, status: latest?.status ?? job.status, cost: latest?.cost ?? null };
    });
}

/** Whether a page has run it for itself: a panel or an input of a dashboard, the monitor, the home page. */
export const isOfPage = ({ provenance }: ListedJob): boolean => provenance.startsWith('UI:');

/** The apps of jobs, by name, and the chosen one, of which there may be no job. */
export const appsOf = (rows: JobRow[], chosen: string): string[] =>
  [...new Set([...rows.map(({ app }) => app), chosen])].filter(Boolean).sort();

export function filtered(rows: JobRow[], filter: JobFilter): JobRow[] {
  const { state, user, app, withPages } = filter;
  const wanted = filter.text.trim().toLowerCase();
  return rows.filter((row) => {
    if (!withPages && isOfPage(row)) return false;
    if (app !== '' && row.app !== app) return false;
    if (user !== '' && row.owner !== user) return false;
    if (state === 'running' && !isRunning(row)) return false;
    if (state === 'failed' && !row.status.isFailed) return false;
    if (state === 'done' && (isRunning(row) || row.status.isFailed)) return false;
    return `${row.search} ${row.sid} ${row.label} ${row.owner}`.toLowerCase().includes(wanted);
  });
}

export function stateWord({ status }: ListedJob): string {
  if (status.isFailed) return 'Failed';
  if (status.isPaused && !status.isDone) return 'Paused';
  if (!status.isDone) {
    const word = status.dispatchState.toLowerCase();
    return word.charAt(0).toUpperCase() + word.slice(1);
  }
  if (status.isFinalized) return 'Stopped early';
  return status.isPartial ? 'Incomplete' : 'Done';
}

/** How long a job stays, in the unit that fits. */
export function lifetime(seconds: number): string {
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.round(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/** How many jobs are listed; nothing while that is not known: the first request runs, or failed. */
export function countText(shown: number, running: number, isKnown: boolean): string {
  if (!isKnown) return '';
  return `${plural(shown, 'job')}${running > 0 ? `, ${running} running` : ''}`;
}

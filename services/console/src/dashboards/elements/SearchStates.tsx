/** What stands in an element whose search has no rows to show, and the lines above rows that are not final. */

import { Button, Skeleton } from '@mantine/core';
import { useEffect, useState } from 'react';
import { explainJobError } from '../../api/explain';
import { sentence } from '../../app/format';
import { Notice } from '../../app/Notice';
import { useDashboard, useTokens } from '../DashboardContext';
import type { DashboardElement, Options } from '../model/types';
import { MAX_ROWS, type SearchState } from '../runtime/manager';
import type { Lookup } from '../runtime/tokens';
import styles from './SearchStates.module.css';

interface SearchStatesProps {
  state: SearchState;
  /** Pixels that the element takes: nothing moves when rows come. */
  height: number;
  isInput?: boolean;
  /** Why there may be no rows, where the author of the element says so. */
  reason?: string | undefined;
  onRetry: () => void;
}

/** Milliseconds before a skeleton is shown: what is there sooner does not flicker. */
const PATIENCE = 200;

/** Null where rows are to be shown. */
export function SearchPlaceholder({ state, height, reason, onRetry }: SearchStatesProps) {
  switch (state.phase) {
    case 'waiting':
      return <WaitingForInput missing={state.missing} height={height} />;
    case 'failed':
      return (
        <div className={styles.failed} style={{ minHeight: height }} data-state="failed">
          <Notice
            kind="error"
            code={(state.error?.message ?? '').includes('\n')}
            action={
              <Button size="compact-xs" variant="default" onClick={onRetry}>
                Try again
              </Button>
            }
          >
            {state.error ? <Explained text={explainJobError(state.error)} /> : 'The search failed.'}
          </Notice>
        </div>
      );
    case 'cancelled':
      return (
        <div className={styles.center} style={{ minHeight: height }} data-state="cancelled">
          <p>The search was stopped.</p>
          <Button size="compact-xs" variant="default" onClick={onRetry}>
            Run it again
          </Button>
        </div>
      );
    case 'done':
      return (
        <div className={styles.center} style={{ minHeight: height }} data-state="empty">
          <p>No results found</p>
          {reason && <p className={styles.hint}>{reason}</p>}
          {state.ran && (state.ran.earliest !== '' || state.ran.latest !== '') && (
            <p className={styles.hint}>
              from {state.ran.earliest || 'the beginning'} to {state.ran.latest || 'now'}
            </p>
          )}
        </div>
      );
    default:
      return <Waiting state={state} height={height} />;
  }
}

/** Lines of a message that point into the search, `1 | index=a | stast` and `^^^^^` below it. */
const EXCERPT = /((?:^ *\d+ \| .*\n?|^[ |]*\^.*\n?)+)/m;

/** The parts of a message: every second one is an excerpt. */
export const excerptParts = (text: string): string[] => text.split(EXCERPT);

/** A line of the search, and the place of the mistake in it. */
export interface ExcerptLine {
  before: string;
  mistake: string;
  after: string;
}

/** The lines of an excerpt with their marks in them: a line that wraps has no line below it to point from. */
export function excerptLines(part: string): ExcerptLine[] {
  const lines: ExcerptLine[] = [];
  for (const line of part.split('\n')) {
    const mark = /^([ |]*)(\^+)/.exec(line);
    const above = lines.at(-1);
    if (mark && above) {
      const from = (mark[1] ?? '').length;
      const to = from + (mark[2] ?? '').length;
      // The server counts characters, some of which are two here.
      const characters = [...above.before];
      const part = (start: number, end?: number) => characters.slice(start, end).join('');
      // A mark behind the end says that something is missing.
      lines[lines.length - 1] = {
        before: part(0, from),
        mistake: part(from, to) || '^',
        after: part(to),
      };
    } else if (line !== '') lines.push({ before: line, mistake: '', after: '' });
  }
  return lines;
}

function Explained({ text }: { text: string }) {
  if (!text.includes('\n')) return sentence(text);
  return excerptParts(text).map((part, at) =>
    at % 2 === 0 ? (
      part
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: parts of a text keep their places
      <div key={at} className={styles.excerpt}>
        {excerptLines(part).map(({ before, mistake, after }, line) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines of a text keep their places
          <div key={line}>
            {before}
            {mistake !== '' && <mark>{mistake}</mark>}
            {after}
          </div>
        ))}
      </div>
    ),
  );
}

function WaitingForInput({ missing, height }: { missing: string[]; height: number }) {
  const tokens = useTokens();
  return (
    <div className={styles.center} style={{ minHeight: height }} data-state="waiting">
      {waitsForSubmit(missing, tokens.default) ? (
        <p>Press Submit to run this search</p>
      ) : (
        <p>
          Waiting for input
          {missing.length > 0 && (
            <>
              : <code>{missing.map((name) => `$${name}$`).join(', ')}</code>
            </>
          )}
        </p>
      )}
    </div>
  );
}

/** Whether inputs show all values that a search waits for: only the button is left. */
export const waitsForSubmit = (missing: string[], shown: Lookup): boolean =>
  missing.length > 0 && missing.every((name) => shown(name) !== undefined);

interface NoValuesProps {
  element: DashboardElement;
  options: Options;
  state: SearchState;
  height: number;
}

/** Of an element whose rows have no values to draw: the same as without rows. */
export function NoValues({ element, options, state, height }: NoValuesProps) {
  const { run } = useDashboard();
  const retry = () => element.search && run.manager.rerun(element.search.key);
  const reason = options.get('karst.reason');
  return <SearchPlaceholder state={state} height={height} reason={reason} onRetry={retry} />;
}

function Waiting({ state, height }: { state: SearchState; height: number }) {
  const [isLate, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), PATIENCE);
    return () => clearTimeout(timer);
  }, []);
  const isRunning = state.phase === 'running';
  return (
    <div style={{ height }} className={styles.loading} data-state={state.phase} aria-busy="true">
      {isLate && <Skeleton className={styles.block} animate={isRunning} />}
      {isLate && <p className={styles.hint}>{progressText(state)}</p>}
    </div>
  );
}

/** How far a search is that has no rows yet. The queue is that of the server, once it has said so. */
export function progressText(state: Pick<SearchState, 'phase' | 'isHeld' | 'job'>): string {
  if (state.phase !== 'running') return state.isHeld ? 'Waiting for other searches' : 'Starting';
  if (state.job?.dispatchState === 'QUEUED') return 'Waiting in the queue';
  const share = Math.round(100 * (state.job?.doneProgress ?? 0));
  return share > 0 ? `Running, ${share} %` : 'Running';
}

/** Lines above rows: a preview, rows of the run before, rows that are not all. */
export function SearchNotes({ state }: { state: SearchState }) {
  const { job, rows, isPreview, isStale } = state;
  const isRunning = state.phase === 'running' || state.phase === 'queued';
  const warnings = (job?.messages ?? []).filter((message) =>
    ['WARN', 'ERROR', 'FATAL'].includes(message.type),
  );
  const isCut =
    rows !== null &&
    !isPreview &&
    job !== null &&
    rows.rows.length >= MAX_ROWS &&
    job.resultCount > rows.rows.length;
  return (
    <>
      {isRunning && rows !== null && (
        <div
          className={styles.bar}
          role="progressbar"
          aria-label={isPreview ? 'Preview' : 'Refreshing'}
          aria-valuemin={0}
          aria-valuemax={100}
          aria-valuenow={Math.round(100 * (job?.doneProgress ?? 0))}
        >
          <div style={{ width: `${100 * (job?.doneProgress ?? 0)}%` }} />
        </div>
      )}
      {isPreview && isRunning && job !== null && (
        <p className={styles.note}>Preview of {job.eventCount.toLocaleString('en-US')} events</p>
      )}
      {isStale && !isRunning && <p className={styles.note}>Results of an earlier run</p>}
      {isCut && job && (
        <p className={styles.note}>
          The first {MAX_ROWS.toLocaleString('en-US')} of {job.resultCount.toLocaleString('en-US')}{' '}
          rows
        </p>
      )}
      {job?.isFinalized && (
        <p className={styles.note}>The search was finished early: results are partial.</p>
      )}
      {warnings.length > 0 && rows !== null && state.phase === 'done' && (
        <details className={styles.warnings}>
          <summary>
            {warnings.length} {warnings.length === 1 ? 'warning' : 'warnings'}
          </summary>
          <ul>
            {warnings.map((message) => (
              <li key={message.text}>{message.text}</li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}

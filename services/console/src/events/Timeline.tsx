/**
 * How many events when. A click on a column or a drag over some narrows the search to that time. By key: left
 * and right move along the columns, with Shift they select, Enter narrows, `-` widens.
 * A drag moves one element and draws nothing else again.
 */

import { Button } from '@mantine/core';
import { IconZoomOut } from '@tabler/icons-react';
import { type KeyboardEvent, type PointerEvent, useMemo, useRef, useState } from 'react';
import { explainJobError } from '../api/explain';
import type { JobStatus, TimelineBucket, Timeline as TimelineData } from '../api/types';
import { compact, plural } from '../app/format';
import { Notice } from '../app/Notice';
import { useZone } from '../app/preferences';
import type { Loaded } from '../search/useLoaded';
import { absoluteRange, durationLabel, type TimeRange, zoomedOut } from '../time/timeRange';
import { epochToWall, formatEpoch } from '../time/zone';
import styles from './Timeline.module.css';
import {
  brushedRange,
  columnsOf,
  position,
  type Span,
  scaleTop,
  tickLabel,
  ticks,
  timelineSpan,
} from './timelineModel';

interface TimelineProps {
  timeline: Loaded<TimelineData>;
  job: JobStatus;
  onRange: (range: TimeRange) => void;
}

const percentOf = (fraction: number) => `${fraction * 100}%`;

export function Timeline({ timeline, job, onRange }: TimelineProps) {
  const { value, error } = timeline;
  if (error && !value) return <Notice kind="error">{explainJobError(error)}</Notice>;
  if (!value || value.buckets.length === 0) return null;
  return <Columns data={value} job={job} onRange={onRange} />;
}

interface ColumnsProps {
  data: TimelineData;
  job: JobStatus;
  onRange: (range: TimeRange) => void;
}

function Columns({ data, job, onRange }: ColumnsProps) {
  const [zone] = useZone();
  const span = timelineSpan(data.buckets, job.earliestTime, job.latestTime);
  const offset = offsetOf(span, zone);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the span is its two ends
  const buckets = useMemo(
    () => columnsOf(data.buckets, span, offset),
    [data.buckets, span.start, span.end, offset],
  );
  /** The marked column, and the one where a selection by key began. */
  const [active, setActive] = useState(-1);
  const [anchor, setAnchor] = useState(-1);
  const plot = useRef<HTMLDivElement>(null);
  const top = scaleTop(Math.max(...buckets.map((bucket) => bucket.count)));
  const marked = selection(buckets, active, anchor);
  const brush = useBrush(plot, (from, to) => {
    const range = brushedRange(buckets, span, from, to);
    if (range) onRange(absoluteRange(range.start, range.end));
  });
  // biome-ignore lint/correctness/useExhaustiveDependencies: the span is its two ends
  const columns = useMemo(
    () =>
      buckets.map((bucket) => (
        <Column
          key={bucket.start}
          span={span}
          start={bucket.start}
          end={bucket.start + bucket.duration}
          height={bucket.count / top}
        />
      )),
    [buckets, span.start, span.end, top],
  );
  const zoomOut = () => onRange(zoomedOut(span.start, span.end, Date.now() / 1000));

  const onPointerMove = (event: PointerEvent<HTMLDivElement>) => {
    if (brush.move(event)) return;
    const moment = span.start + fractionAt(event) * (span.end - span.start);
    setAnchor(-1);
    setActive(buckets.findIndex((one) => one.start <= moment && moment < one.start + one.duration));
  };

  const onKeyDown = (event: KeyboardEvent) => {
    const steps: Record<string, number> = {
      ArrowRight: active + 1,
      ArrowLeft: active - 1,
      Home: 0,
      End: buckets.length - 1,
    };
    const next = steps[event.key];
    if (next !== undefined) {
      setAnchor(event.shiftKey ? (anchor === -1 ? Math.max(0, active) : anchor) : -1);
      setActive(Math.min(buckets.length - 1, Math.max(0, next)));
    } else if (event.key === 'Enter' && marked) {
      onRange(absoluteRange(marked.start, marked.end));
    } else if (event.key === '-') zoomOut();
    else if (event.key === 'Escape' && marked) {
      setActive(-1);
      setAnchor(-1);
    } else return;
    event.preventDefault();
  };

  return (
    <section className={styles.timeline} aria-label="Timeline" data-testid="timeline">
      <div className={styles.caption}>
        <span>
          {marked
            ? `${formatEpoch(marked.start, zone)} – ${formatEpoch(marked.end, zone).slice(11)}: `
            : `One column is ${durationLabel(Math.max(...buckets.map((bucket) => bucket.duration)))}`}
          {marked && <b>{plural(marked.count, 'event')}</b>}
        </span>
        <span className={styles.hint}>Click or drag to narrow the time range</span>
        <Button
          size="compact-xs"
          variant="subtle"
          color="gray"
          leftSection={<IconZoomOut size={13} />}
          data-testid="zoom-out"
          onClick={zoomOut}
        >
          Zoom out
        </Button>
      </div>
      <div className={styles.frame}>
        <div className={styles.scale} aria-hidden="true">
          <span>{compact(top)}</span>
          <span>{top % 2 === 0 ? compact(top / 2) : ''}</span>
          <span>0</span>
        </div>
        <div
          ref={plot}
          className={styles.plot}
          role="slider"
          tabIndex={0}
          aria-label="Events over time. Shift with left and right selects, Enter narrows, minus widens."
          aria-valuemin={0}
          aria-valuemax={buckets.length - 1}
          aria-valuenow={Math.max(0, active)}
          aria-valuetext={
            marked
              ? `${formatEpoch(marked.start, zone)} to ${formatEpoch(marked.end, zone)}: ${plural(marked.count, 'event')}`
              : undefined
          }
          data-testid="timeline-plot"
          onKeyDown={onKeyDown}
          onPointerDown={brush.begin}
          onPointerMove={onPointerMove}
          onPointerUp={brush.end}
          onPointerCancel={brush.cancel}
          onPointerLeave={() => anchor === -1 && setActive(-1)}
        >
          {marked && (
            <div
              className={styles.marked}
              style={{
                left: percentOf(position(span, marked.start)),
                width: percentOf(position(span, marked.end) - position(span, marked.start)),
              }}
            />
          )}
          {columns}
          <div className={styles.brush} ref={brush.element} hidden />
        </div>
        <TimeAxis span={span} zone={zone} />
      </div>
    </section>
  );
}

/** The columns between the two that were chosen by key or pointer. */
function selection(buckets: TimelineBucket[], active: number, anchor: number) {
  if (active === -1) return null;
  const ends = anchor === -1 ? [active, active] : [anchor, active].sort((a, b) => a - b);
  const chosen = buckets.slice(ends[0], (ends[1] ?? 0) + 1);
  const first = chosen[0];
  const last = chosen.at(-1);
  if (!first || !last) return null;
  const count = chosen.reduce((sum, bucket) => sum + bucket.count, 0);
  return { start: first.start, end: last.start + last.duration, count };
}

/** Where on the plot the pointer is, 0 to 1. */
function fractionAt(event: PointerEvent<HTMLDivElement>): number {
  const box = event.currentTarget.getBoundingClientRect();
  if (box.width === 0) return 0;
  return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
}

/** A drag over the plot, drawn once a frame without React. */
function useBrush(
  plot: React.RefObject<HTMLDivElement | null>,
  onDone: (from: number, to: number) => void,
) {
  const element = useRef<HTMLDivElement>(null);
  const drag = useRef<{ from: number; to: number; frame: number } | null>(null);

  const draw = () => {
    const { current } = drag;
    if (!current || !element.current) return;
    current.frame = 0;
    element.current.hidden = current.from === current.to;
    element.current.style.left = percentOf(Math.min(current.from, current.to));
    element.current.style.width = percentOf(Math.abs(current.to - current.from));
  };
  const cancel = () => {
    if (drag.current) cancelAnimationFrame(drag.current.frame);
    drag.current = null;
    if (element.current) element.current.hidden = true;
  };
  return {
    element,
    cancel,
    begin: (event: PointerEvent<HTMLDivElement>) => {
      if (event.button !== 0) return;
      plot.current?.setPointerCapture(event.pointerId);
      const from = fractionAt(event);
      drag.current = { from, to: from, frame: 0 };
    },
    /** Whether there is a drag that the movement belongs to. */
    move: (event: PointerEvent<HTMLDivElement>): boolean => {
      if (!drag.current) return false;
      drag.current.to = fractionAt(event);
      drag.current.frame ||= requestAnimationFrame(draw);
      return true;
    },
    end: () => {
      const { current } = drag;
      cancel();
      if (current) onDone(current.from, current.to);
    },
  };
}

interface ColumnProps {
  span: Span;
  start: number;
  end: number;
  height: number;
}

function Column({ span, start, end, height }: ColumnProps) {
  const left = position(span, start);
  return (
    <div
      className={styles.column}
      style={{ left: percentOf(left), width: percentOf(position(span, end) - left) }}
    >
      <div style={{ height: percentOf(height), minHeight: height > 0 ? 2 : 0 }} />
    </div>
  );
}

/** Seconds by which the clocks of the zone are ahead of UTC. */
function offsetOf(span: Span, zone: string): number {
  const { year, month, day, hour, minute, second } = epochToWall(span.start, zone);
  return Date.UTC(year, month - 1, day, hour, minute, second) / 1000 - Math.floor(span.start);
}

function TimeAxis({ span, zone }: { span: Span; zone: string }) {
  return (
    <div className={styles.axis} aria-hidden="true">
      {ticks(span, 8, offsetOf(span, zone)).map((tick) => (
        <span key={tick} style={{ left: percentOf(position(span, tick)) }}>
          {/* A label without room on the right wraps out of sight. */}
          {'\u200b'}
          <i>{tickLabel(formatEpoch(tick, zone), span.end - span.start)}</i>
        </span>
      ))}
    </div>
  );
}

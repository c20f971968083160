/**
 * How many events when. A click on a column or a drag over some narrows the search to that time;
 * left and right move along the columns by key, Enter narrows to the one marked.
 */

import { Button } from '@mantine/core';
import { IconZoomOut } from '@tabler/icons-react';
import { type KeyboardEvent, type PointerEvent, useRef, useState } from 'react';
import { explainJobError } from '../api/explain';
import type { JobStatus, Timeline as TimelineData } from '../api/types';
import { compact, plural } from '../app/format';
import { Notice } from '../app/Notice';
import { useZone } from '../app/preferences';
import type { Loaded } from '../search/useLoaded';
import { absoluteRange, durationLabel, type TimeRange, zoomedOut } from '../time/timeRange';
import { epochToWall, formatEpoch } from '../time/zone';
import styles from './Timeline.module.css';
import {
  brushedRange,
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

/** Labels further right would be cut off. */
const LAST_LABEL = 0.96;

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
  const { buckets } = data;
  const [zone] = useZone();
  const [active, setActive] = useState(-1);
  const [brush, setBrush] = useState<{ from: number; to: number } | null>(null);
  const plot = useRef<HTMLDivElement>(null);
  const span = timelineSpan(buckets, job.earliestTime, job.latestTime);
  const top = scaleTop(Math.max(...buckets.map((bucket) => bucket.count)));
  const shown = buckets[active];

  const fractionAt = (event: PointerEvent) => {
    const box = plot.current?.getBoundingClientRect();
    if (!box || box.width === 0) return 0;
    return Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
  };

  const narrow = (from: number, to: number) => {
    const range = brushedRange(buckets, span, from, to);
    if (range) onRange(absoluteRange(range.start, range.end));
  };

  const onPointerMove = (event: PointerEvent) => {
    const fraction = fractionAt(event);
    const moment = span.start + fraction * (span.end - span.start);
    setActive(buckets.findIndex((one) => one.start <= moment && moment < one.start + one.duration));
    if (brush) setBrush({ ...brush, to: fraction });
  };

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'ArrowRight') setActive(Math.min(buckets.length - 1, active + 1));
    else if (event.key === 'ArrowLeft') setActive(Math.max(0, active - 1));
    else if (event.key === 'Enter' && shown) {
      onRange(absoluteRange(shown.start, shown.start + shown.duration));
    } else return;
    event.preventDefault();
  };

  return (
    <section className={styles.timeline} aria-label="Timeline" data-testid="timeline">
      <div className={styles.caption}>
        <span>
          {shown
            ? `${formatEpoch(shown.start, zone)} – ${formatEpoch(shown.start + shown.duration, zone).slice(11)}: `
            : `One column is ${durationLabel(buckets[0]?.duration ?? 0)}`}
          {shown && <b>{plural(shown.count, 'event')}</b>}
        </span>
        <span className={styles.hint}>Click or drag to narrow the time range</span>
        <Button
          size="compact-xs"
          variant="subtle"
          color="gray"
          leftSection={<IconZoomOut size={13} />}
          data-testid="zoom-out"
          onClick={() => onRange(zoomedOut(span.start, span.end, Date.now() / 1000))}
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
          aria-label="Events over time"
          aria-valuemin={0}
          aria-valuemax={buckets.length - 1}
          aria-valuenow={Math.max(0, active)}
          aria-valuetext={
            shown ? `${formatEpoch(shown.start, zone)}: ${plural(shown.count, 'event')}` : undefined
          }
          data-testid="timeline-plot"
          onKeyDown={onKeyDown}
          onPointerDown={(event) => {
            if (event.button !== 0) return;
            event.currentTarget.setPointerCapture(event.pointerId);
            const from = fractionAt(event);
            setBrush({ from, to: from });
          }}
          onPointerMove={onPointerMove}
          onPointerUp={() => {
            if (brush) narrow(brush.from, brush.to);
            setBrush(null);
          }}
          onPointerCancel={() => setBrush(null)}
          onPointerLeave={() => setActive(-1)}
        >
          {buckets.map((bucket, index) => (
            <Column
              key={bucket.start}
              span={span}
              start={bucket.start}
              end={bucket.start + bucket.duration}
              height={bucket.count / top}
              isActive={index === active}
            />
          ))}
          {brush && brush.from !== brush.to && (
            <div
              className={styles.brush}
              style={{
                left: percentOf(Math.min(brush.from, brush.to)),
                width: percentOf(Math.abs(brush.to - brush.from)),
              }}
            />
          )}
        </div>
        <TimeAxis span={span} zone={zone} />
      </div>
    </section>
  );
}

interface ColumnProps {
  span: Span;
  start: number;
  end: number;
  height: number;
  isActive: boolean;
}

function Column({ span, start, end, height, isActive }: ColumnProps) {
  const left = position(span, start);
  return (
    <div
      className={styles.column}
      data-active={isActive}
      style={{ left: percentOf(left), width: percentOf(position(span, end) - left) }}
    >
      <div style={{ height: percentOf(height), minHeight: height > 0 ? 2 : 0 }} />
    </div>
  );
}

function TimeAxis({ span, zone }: { span: Span; zone: string }) {
  const wall = epochToWall(span.start, zone);
  const { year, month, day, hour, minute, second } = wall;
  const offset =
    Date.UTC(year, month - 1, day, hour, minute, second) / 1000 - Math.floor(span.start);
  return (
    <div className={styles.axis} aria-hidden="true">
      {ticks(span, 8, offset).map((tick) => {
        const left = position(span, tick);
        if (left > LAST_LABEL) return null;
        return (
          <span key={tick} style={{ left: percentOf(left) }}>
            {tickLabel(formatEpoch(tick, zone), span.end - span.start)}
          </span>
        );
      })}
    </div>
  );
}

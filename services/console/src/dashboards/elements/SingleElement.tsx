/** One large value with its trend, or one for each panel of a trellis. */

import { useComputedColorScheme } from '@mantine/core';
import { IconArrowDownRight, IconArrowRight, IconArrowUpRight } from '@tabler/icons-react';
import { useMemo } from 'react';
import { cellText } from '../../statistics/table';
import { useDashboard } from '../DashboardContext';
import { showsEventsBehind } from '../model/drilldownOption';
import type { DashboardElement } from '../model/types';
import type { Click } from '../runtime/links';
import type { SearchState } from '../runtime/manager';
import { legible, readableOn } from './cellFormat';
import type { ResultsProps } from './ElementView';
import { NoValues } from './SearchStates';
import styles from './SingleElement.module.css';
import { fittingSize, type SingleView, singleView } from './singleValue';
import { type Part, Parts, useSplit } from './Trellis';
import { ValueBox } from './ValueBox';

/** Pixels of the values of a trellis. */
const HEIGHTS = { small: 64, medium: 84, large: 120 };

export function SingleElement({ element, options, state, height, title }: ResultsProps) {
  const { rows } = state;
  const split = useSplit(state, options);
  if (!rows) return null;
  if (split?.panels.length === 0) {
    return <NoValues element={element} options={options} state={state} height={height} />;
  }
  return (
    <Parts rows={rows} split={split} height={height} heights={HEIGHTS} label={title}>
      {(part) => <OneValue element={element} options={options} state={state} {...part} />}
    </Parts>
  );
}

interface OneValueProps extends Part {
  element: DashboardElement;
  options: ReadonlyMap<string, string>;
  state: SearchState;
}

function OneValue(props: OneValueProps) {
  const { element, results, options, state, height, label, panel } = props;
  const { run } = useDashboard();
  const column = panel?.column ?? null;
  const view = useMemo(() => singleView(results, options, column), [results, options, column]);
  // A unit or a label alone would look like a value.
  if (!view || view.text === '') {
    return <NoValues element={element} options={options} state={state} height={height} />;
  }
  const isClickable = element.drilldown !== null || showsEventsBehind('single', options);
  const click = (newTab: boolean) => {
    const name = results.fields[view.column] ?? '';
    const value = cellText(results.rows[view.row]?.[view.column] ?? null);
    const whole = panel?.all ?? results;
    const row = whole.rows[panel ? (panel.sources[view.row] ?? 0) : view.row] ?? [];
    const cells = new Map(whole.fields.map((field, at) => [field, cellText(row[at] ?? null)]));
    const clicked: Click = { name, value, name2: name, value2: value, row: cells };
    if (panel) clicked.trellis = { name: panel.name, value: panel.value };
    run.click(element, clicked, newTab);
  };
  const filled = view.isBlock && view.color !== null;
  const style = filled
    ? {
        background: view.color ?? undefined,
        color: readableOn(view.color ?? ''),
        minHeight: height,
      }
    : { minHeight: height };
  return (
    <ValueBox style={style} label={label} testId="single" onClick={isClickable ? click : undefined}>
      <Value view={view} isFilled={filled} />
      {view.under && <span className={styles.under}>{view.under}</span>}
      {view.sparkline.length > 1 && (
        <Sparkline
          values={view.sparkline}
          color={(filled ? null : view.trend?.color) ?? 'currentColor'}
        />
      )}
    </ValueBox>
  );
}

function Value({ view, isFilled }: { view: SingleView; isFilled: boolean }) {
  const { trend } = view;
  const surface = useComputedColorScheme('light') === 'dark' ? '#1b2024' : '#ffffff';
  const shown = (color: string | null | undefined, least: number) =>
    isFilled || !color ? undefined : legible(color, surface, least);
  const Arrow =
    trend?.direction === 1
      ? IconArrowUpRight
      : trend?.direction === -1
        ? IconArrowDownRight
        : IconArrowRight;
  const unit = view.unit && <span className={styles.unit}>{view.unit}</span>;
  return (
    <div className={styles.line}>
      {view.before && <span className={styles.label}>{view.before}</span>}
      <span
        className={`${styles.value} single-result`}
        data-number={view.value !== null}
        style={{
          fontSize: fittingSize(view),
          color: shown(view.color, 3),
        }}
      >
        {view.unitBefore && unit}
        {view.text}
        {!view.unitBefore && unit}
      </span>
      {view.after && <span className={styles.label}>{view.after}</span>}
      {trend && (
        <span className={styles.trend} style={{ color: shown(trend.color, 4.5) }}>
          <Arrow size={16} aria-hidden="true" />
          <span>
            <span className="visually-hidden">
              {trend.direction === 1
                ? 'up by '
                : trend.direction === -1
                  ? 'down by '
                  : 'unchanged, '}
            </span>
            {trend.text}
          </span>
          {trend.interval && <span className={styles.interval}>{trend.interval}</span>}
        </span>
      )}
    </div>
  );
}

/** Bars of the same width with gaps, over 100 units; a value of zero has a trace. */
export function barsOf(tops: number[], zero: number): string {
  const step = 100 / Math.max(1, tops.length);
  const bar = (top: number, at: number) => {
    const height = Math.abs(top - zero) < 0.5 ? -0.5 : top - zero;
    return `M${(at * step).toFixed(2)} ${zero.toFixed(1)}h${(0.75 * step).toFixed(2)}v${height.toFixed(1)}h${(-0.75 * step).toFixed(2)}z`;
  };
  return tops.map(bar).join('');
}

/** A line of values, or bars from zero, as wide as its place. */
export function Sparkline({
  values,
  height = 30,
  color = 'currentColor',
  isOfBars = false,
}: {
  values: number[];
  height?: number;
  color?: string;
  isOfBars?: boolean;
}) {
  const zero = isOfBars ? [0] : [];
  const [least, most] = [Math.min(...zero, ...values), Math.max(...zero, ...values)];
  const y = (value: number) => height - 2 - ((height - 4) * (value - least)) / (most - least || 1);
  const points = values.map(
    (value, at) => `${(100 * at) / Math.max(1, values.length - 1)},${y(value).toFixed(1)}`,
  );
  return (
    <svg
      className={styles.sparkline}
      viewBox={`0 0 100 ${height}`}
      preserveAspectRatio="none"
      style={{ height }}
      aria-hidden="true"
    >
      {isOfBars ? (
        <path d={barsOf(values.map(y), y(0))} fill={color} />
      ) : (
        <polyline
          points={points.join(' ')}
          fill="none"
          stroke={color}
          strokeWidth="1.5"
          vectorEffect="non-scaling-stroke"
        />
      )}
    </svg>
  );
}

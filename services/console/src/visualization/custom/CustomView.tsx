/** A custom visualization with its name, and a table for who does not see it. */

import { useComputedColorScheme } from '@mantine/core';
import { lazy, Suspense } from 'react';
import type { ResultRows } from '../../api/types';
import { plural } from '../../app/format';
import { useZone } from '../../app/preferences';
import { PlotFrame } from '../PlotFrame';
import { type CustomKind, KIND_WORDS } from './kinds';
import type { CustomModel } from './model';

const CustomCanvas = lazy(() => import('./CustomCanvas'));

interface CustomViewProps {
  kind: CustomKind;
  model: CustomModel;
  results: ResultRows;
  options: ReadonlyMap<string, string>;
  height: number;
  label: string;
  note: string | null;
  onClick?: ((row: number, newTab: boolean) => void) | undefined;
}

export function CustomView(props: CustomViewProps) {
  const { kind, model, results, options, height, label, note, onClick } = props;
  const scheme = useComputedColorScheme('light');
  const [zone] = useZone();
  const what = `${KIND_WORDS[kind]}, ${plural(results.rows.length, 'row')}`;
  const summary = label ? `${label}: ${what}` : what;
  return (
    <PlotFrame results={results} height={height} label={summary} note={note}>
      <div role="img" aria-label={summary} style={{ height }} data-testid="custom" data-kind={kind}>
        <Suspense fallback={null}>
          <CustomCanvas
            kind={kind}
            model={model}
            options={options}
            height={height}
            scheme={scheme}
            zone={zone}
            onClick={onClick}
          />
        </Suspense>
      </div>
    </PlotFrame>
  );
}

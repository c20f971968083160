/** A custom visualization of an app, where the console knows how its kind is drawn. */

import { useMemo } from 'react';
import { cellText } from '../../statistics/table';
import { CustomView } from '../../visualization/custom/CustomView';
import { type CustomKind, KIND_WORDS } from '../../visualization/custom/kinds';
import { customModel } from '../../visualization/custom/model';
import { useDashboard } from '../DashboardContext';
import { showsEventsBehind } from '../model/drilldownOption';
import { customOptionsOf } from '../model/reportOptions';
import type { ResultsProps } from './ElementView';
import styles from './ElementView.module.css';
import { StatusIndicator } from './StatusIndicator';
import { TableElement } from './TableElement';
import { type Part, Parts, useSplit } from './Trellis';

/** Pixels of the panels of a trellis. */
const HEIGHTS = { small: 130, medium: 190, large: 260 };

/** Pixels of a single value whose author says nothing. */
const VALUE_HEIGHT = 180;

interface CustomProps extends ResultsProps {
  kind: CustomKind;
  /** `app.visualization`. */
  type: string;
}

export function CustomElement({ kind, type, ...props }: CustomProps) {
  const { options, state, title } = props;
  const { rows } = state;
  const isValue = kind === 'status' || kind === 'meter';
  const height = isValue && !options.has('height') ? VALUE_HEIGHT : props.height;
  const own = useMemo(() => customOptionsOf(options, type), [options, type]);
  const split = useSplit(state, options);
  if (!rows) return null;
  return (
    <Parts rows={rows} split={split} height={height} heights={HEIGHTS} label={title}>
      {(part) => <One {...props} {...part} kind={kind} own={own} />}
    </Parts>
  );
}

interface OneProps extends ResultsProps, Part {
  kind: CustomKind;
  own: ReadonlyMap<string, string>;
}

function One({ kind, own, results, label, panel, ...props }: OneProps) {
  const { element, options, height } = props;
  const { run } = useDashboard();
  const { model, note } = useMemo(() => customModel(kind, results), [kind, results]);
  if (!model) {
    return (
      <>
        <p className={styles.unsupported} role="note">
          {`The ${KIND_WORDS[kind].toLowerCase()} is not drawn: ${note?.toLowerCase() ?? ''} The table has the results.`}
        </p>
        <TableElement {...props} />
      </>
    );
  }
  const isClickable = element.drilldown !== null || showsEventsBehind('viz', options);
  const click = (at: number, newTab: boolean) => {
    const whole = panel?.all ?? results;
    const row = panel ? (panel.sources[at] ?? at) : at;
    const cells = new Map(
      whole.fields.map((name, column) => [name, cellText(whole.rows[row]?.[column] ?? null)]),
    );
    const [name = '', name2 = name] = whole.fields.filter((field) => !field.startsWith('_'));
    const last = [cells.get(name) ?? '', cells.get(name2) ?? ''] as const;
    run.click(element, { name, value: last[0], name2, value2: last[1], row: cells }, newTab);
  };
  const onClick = isClickable ? click : undefined;
  if (kind === 'status' && model.kind === 'value') {
    return <StatusIndicator model={model} options={own} height={height} onClick={onClick} />;
  }
  return (
    <CustomView
      kind={kind}
      model={model}
      results={results}
      options={own}
      height={height}
      label={label}
      note={note}
      onClick={onClick}
    />
  );
}

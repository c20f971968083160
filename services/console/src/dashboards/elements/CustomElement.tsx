/** A custom visualization of an app, where the console knows how its kind is drawn. */

import { useMemo } from 'react';
import { cellText } from '../../statistics/table';
import { CustomView } from '../../visualization/custom/CustomView';
import { type CustomKind, KIND_WORDS } from '../../visualization/custom/kinds';
import { customModel } from '../../visualization/custom/model';
import { useDashboard } from '../DashboardContext';
import { showsEventsBehind } from '../model/drilldownOption';
import { colorOf } from '../model/values';
import type { ResultsProps } from './ElementView';
import styles from './ElementView.module.css';
import { StatusIndicator } from './StatusIndicator';
import { TableElement } from './TableElement';
import { type Part, Parts, useSplit } from './Trellis';

/** Pixels of the panels of a trellis. */
const HEIGHTS = { small: 130, medium: 190, large: 260 };

/** Pixels of a single value whose author says nothing. */
const VALUE_HEIGHT = 180;

/** Options without the name of the app and its visualization, in front of them in two spellings. */
function ownOptions(options: ReadonlyMap<string, string>): Map<string, string> {
  const own = new Map<string, string>();
  for (const [name, value] of options) {
    const key =
      name
        .replace(/^display\.visualizations\.custom\./, '')
        .split('.')
        .at(-1) ?? name;
    own.set(key, key.endsWith('color') ? (colorOf(value) ?? value) : value);
  }
  return own;
}

export function CustomElement({ kind, ...props }: ResultsProps & { kind: CustomKind }) {
  const { options, state, title } = props;
  const { rows } = state;
  const isValue = kind === 'status' || kind === 'meter';
  const height = isValue && !options.has('height') ? VALUE_HEIGHT : props.height;
  const own = useMemo(() => ownOptions(options), [options]);
  const split = useSplit(rows, options);
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

import { useEffect, useRef } from 'react';
import { DashboardForm } from './DashboardForm';
import styles from './Editing.module.css';
import type { FormProps, Selection } from './FormParts';
import { InputForm } from './InputForm';
import { inputsOf } from './outline';
import { PageSearchForm } from './PageSearchForm';
import { PanelForm } from './PanelForm';
import { pageSearchesOf } from './searchParts';

interface InspectorProps extends FormProps {
  selection: Selection;
}

const NOTHING = JSON.stringify({ kind: 'dashboard' } satisfies Selection);

export function Inspector(props: InspectorProps) {
  const { source, rows, selection } = props;
  const panel =
    selection.kind === 'panel' ? rows[selection.row]?.panels[selection.panel] : undefined;
  const input = selection.kind === 'input' ? inputsOf(source)[selection.at] : undefined;
  const search = selection.kind === 'search' ? pageSearchesOf(source)[selection.at] : undefined;
  const box = useRef<HTMLElement>(null);
  const chosen = JSON.stringify(selection);
  // On a narrow screen it is below the page.
  useEffect(() => {
    if (chosen !== NOTHING) box.current?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  return (
    <section ref={box} className={styles.form} aria-label="Properties" data-testid="inspector">
      {panel ? (
        <PanelForm key={chosen} {...props} panel={panel} />
      ) : input && selection.kind === 'input' ? (
        <InputForm key={`input ${selection.at}`} {...props} input={input} at={selection.at} />
      ) : search ? (
        <PageSearchForm key={chosen} {...props} search={search} />
      ) : (
        <DashboardForm {...props} />
      )}
    </section>
  );
}

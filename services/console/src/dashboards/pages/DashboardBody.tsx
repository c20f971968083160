/** The rows and panels of a dashboard. */

import { lazy, Suspense, useEffect, useState } from 'react';
import { Notice } from '../../app/Notice';
import { type Editing, useDashboard, useIsShown, useText } from '../DashboardContext';
import { ElementView } from '../elements/ElementView';
import { HtmlElement } from '../elements/HtmlElement';
import { Filters, InputView } from '../inputs/InputView';
import { readPanelText } from '../model/reader';
import type { Panel, Row } from '../model/types';
import styles from './DashboardBody.module.css';
import { runsOf } from './runsOf';

const PanelFrame = lazy(async () => ({
  default: (await import('../edit/PanelFrame')).PanelFrame,
}));
const RowFrame = lazy(async () => ({ default: (await import('../edit/RowFrame')).RowFrame }));
const RowEnd = lazy(async () => ({ default: (await import('../edit/RowFrame')).RowEnd }));

export function DashboardBody() {
  const { dashboard, editing } = useDashboard();
  return (
    <>
      {(!dashboard.hideFilters || editing) && (
        <Filters inputs={dashboard.inputs} hasButton={dashboard.submitButton} />
      )}
      {dashboard.rows.length === 0 && !editing && (
        <p className={styles.empty}>This dashboard has no panels.</p>
      )}
      {dashboard.rows.map((row, at) => (
        <RowView key={row.key} row={row} at={at} />
      ))}
      {editing && (
        <Suspense fallback={null}>
          <RowEnd editing={editing} rows={dashboard.rows.length} />
        </Suspense>
      )}
    </>
  );
}

function RowView({ row, at }: { row: Row; at: number }) {
  const { editing } = useDashboard();
  const isShown = useIsShown(row.depends, row.rejects);
  if (!isShown) return <HiddenStyles panels={row.panels} />;
  if (editing) {
    return (
      <Suspense fallback={null}>
        <RowFrame editing={editing} row={row} at={at}>
          {row.panels.map((panel, index) => (
            <EditedPanel
              key={panel.key}
              panel={panel}
              editing={row.isGrouped ? null : editing}
              row={at}
              index={index}
            />
          ))}
        </RowFrame>
      </Suspense>
    );
  }
  return (
    <div id={row.id ?? undefined} className={`${styles.row} dashboard-row`}>
      {row.panels.map((panel) => (
        <PanelView key={panel.key} panel={panel} />
      ))}
    </div>
  );
}

interface EditedPanelProps {
  panel: Panel;
  /** Null for one that does not stand in the text. */
  editing: Editing | null;
  row: number;
  index: number;
}

function EditedPanel({ panel, editing, row, index }: EditedPanelProps) {
  const shown = <PanelView panel={panel} />;
  if (!editing) return shown;
  return (
    <PanelFrame panel={panel} editing={editing} row={row} index={index}>
      {shown}
    </PanelFrame>
  );
}

/** The styles of HTML panels that are not shown: apps keep the look of a page there. */
function HiddenStyles({ panels }: { panels: Panel[] }) {
  const elements = panels.flatMap((panel) => panel.elements);
  return (
    <>
      {elements
        .filter((element) => element.kind === 'html')
        .map((element) => (
          <HtmlElement key={element.key} element={element} isShown={false} />
        ))}
    </>
  );
}

function PanelView({ panel }: { panel: Panel }) {
  const isShown = useIsShown(panel.depends, panel.rejects);
  if (!isShown) return <HiddenStyles panels={[panel]} />;
  return panel.reference ? <ReferencedPanel panel={panel} /> : <Shown panel={panel} />;
}

function Shown({ panel }: { panel: Panel }) {
  const title = useText(panel.title);
  const description = useText(panel.description);
  return (
    <div id={panel.id ?? undefined} className={`${styles.panel} dashboard-cell dashboard-panel`}>
      {title && <h2 className={`${styles.title} panel-title`}>{title}</h2>}
      {description && <p className={styles.description}>{description}</p>}
      {panel.inputs.length > 0 && (
        <div className={`${styles.inputs} fieldset`}>
          {panel.inputs.map((input) => (
            <InputView key={input.key} input={input} />
          ))}
        </div>
      )}
      {runsOf(panel.elements).flatMap((run) => {
        const [first] = run;
        const drawn = run.map((element) => (
          <ElementView key={element.key} element={element} panelTitle={title} />
        ));
        if (!first || run.length === 1) return drawn;
        return (
          <div key={`run/${first.key}`} className={`${styles.singles} panel-element-row`}>
            {drawn}
          </div>
        );
      })}
    </div>
  );
}

/** A panel in a file of its own, `<panel ref="...">`. */
function ReferencedPanel({ panel }: { panel: Panel }) {
  const { run, server } = useDashboard();
  const [found, setFound] = useState<Panel | null>(null);
  const [error, setError] = useState<string | null>(null);
  const name = panel.reference?.name ?? '';
  const app = panel.reference?.app ?? run.app;
  useEffect(() => {
    let isLeft = false;
    server.readPanel(app, name).then(
      (text) => {
        if (isLeft) return;
        try {
          const read = readPanelText(text);
          const unique = renamed(read, `${panel.key}/`);
          run.addPanel(unique);
          setFound(unique);
        } catch (problem) {
          setError(problem instanceof Error ? problem.message : String(problem));
        }
      },
      (problem: Error) => !isLeft && setError(problem.message),
    );
    return () => {
      isLeft = true;
    };
  }, [run, server, app, name, panel.key]);
  if (error) {
    return (
      <div className={styles.panel}>
        <Notice kind="warning">{`The panel "${name}" of the app ${app} cannot be shown: ${error}`}</Notice>
      </div>
    );
  }
  return found ? <Shown panel={found} /> : <div className={styles.panel} aria-busy="true" />;
}

/** Keys of a file of its own may be those of the page. */
function renamed(panel: Panel, prefix: string): Panel {
  const search = <T extends { key: string }>(one: T | null): T | null =>
    one === null ? null : { ...one, key: prefix + one.key };
  return {
    ...panel,
    inputs: panel.inputs.map((input) => ({
      ...input,
      key: prefix + input.key,
      search: search(input.search),
    })),
    elements: panel.elements.map((element) => ({
      ...element,
      key: prefix + element.key,
      search: search(element.search),
    })),
  };
}

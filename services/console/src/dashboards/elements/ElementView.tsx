/** One element of a panel: its title, its menu, its state, and what shows its rows. */

import { ActionIcon, Menu } from '@mantine/core';
import {
  IconDots,
  IconFileTypeCsv,
  IconMaximize,
  IconPhoto,
  IconPlayerStop,
  IconRefresh,
  IconSearch,
} from '@tabler/icons-react';
import { useMemo, useRef } from 'react';
import type { ResultRows } from '../../api/types';
import { useZone } from '../../app/preferences';
import { clockTime } from '../../time/zone';
import { customKind } from '../../visualization/custom/kinds';
import { useDashboard, useIsShown, useOptions, useSearch, useText } from '../DashboardContext';
import { reportOptions } from '../model/reportOptions';
import type { DashboardElement } from '../model/types';
import { flag, pixels } from '../model/values';
import { searchAddress } from '../runtime/links';
import type { SearchState } from '../runtime/manager';
import { ChartElement } from './ChartElement';
import { CustomElement } from './CustomElement';
import styles from './ElementView.module.css';
import { EventElement } from './EventElement';
import { saveCsv, savePng } from './exportElement';
import { HtmlElement } from './HtmlElement';
import { HEIGHTS } from './heights';
import { MapElement } from './MapElement';
import { SearchNotes, SearchPlaceholder } from './SearchStates';
import { SingleElement } from './SingleElement';
import { TableElement } from './TableElement';
import { useInView } from './useInView';

/** Names that apps' style sheets use. */
const CLASSES: Record<string, string> = {
  table: 'dashboard-element table splunk-table',
  chart: 'dashboard-element chart',
  single: 'dashboard-element single single-value',
  event: 'dashboard-element event',
  map: 'dashboard-element map',
  html: 'dashboard-element html',
  unsupported: 'dashboard-element viz',
};

interface ElementViewProps {
  element: DashboardElement;
  /** That of its panel: what it is called where it has no title itself. */
  panelTitle?: string;
}

export function ElementView({ element, panelTitle = '' }: ElementViewProps) {
  const isShown = useIsShown(element.depends, element.rejects);
  if (element.kind === 'html') return <HtmlElement element={element} isShown={isShown} />;
  return isShown ? <Shown element={element} panelTitle={panelTitle} /> : null;
}

function Shown({ element, panelTitle }: Required<ElementViewProps>) {
  const { run } = useDashboard();
  const [box, isNear] = useInView<HTMLElement>();
  const written = useOptions(element.options);
  const title = useText(element.title);
  const description = useText(element.description);
  const state = useSearch(element.search?.key ?? null, isNear);
  const { display } = state;
  // Of a report: it looks as it does by itself, but for what the element says.
  const options = useMemo(
    () => (display ? new Map([...reportOptions(element.kind, display), ...written]) : written),
    [element.kind, display, written],
  );
  const height = pixels(options.get('height')) ?? HEIGHTS[element.kind] ?? 180;
  const retry = () => element.search && run.manager.rerun(element.search.key);
  const reason = options.get('karst.reason');
  // Rows of times alone, as timechart makes them of no events, are no result where the author says why.
  const isBlank = reason !== undefined && state.rows !== null && !hasValues(state.rows);
  const hasRows =
    state.rows !== null && state.rows.rows.length > 0 && state.phase !== 'failed' && !isBlank;
  return (
    <section
      ref={box}
      id={element.id ?? undefined}
      className={`${styles.element} ${CLASSES[element.kind] ?? ''}`}
      aria-label={title || undefined}
      data-testid="element"
      data-kind={element.written}
      data-phase={state.phase}
    >
      <header className={styles.header}>
        {title && <h3 className="panel-title element-title">{title}</h3>}
        {element.search && <ElementMenu element={element} state={state} title={title} box={box} />}
      </header>
      {description && <p className={styles.description}>{description}</p>}
      {element.search === null ? (
        <p className={styles.description}>This element has no search.</p>
      ) : (
        <>
          {hasRows && <SearchNotes state={state} />}
          {hasRows ? (
            <Results
              element={element}
              options={options}
              state={state}
              height={height}
              title={title || panelTitle}
            />
          ) : (
            <SearchPlaceholder state={state} height={height} reason={reason} onRetry={retry} />
          )}
        </>
      )}
    </section>
  );
}

/** Whether any cell beside the internal columns has a value. */
function hasValues({ fields, rows }: ResultRows): boolean {
  return rows.some((row) =>
    row.some((cell, at) => cell !== null && cell.length > 0 && !fields[at]?.startsWith('_')),
  );
}

export interface ResultsProps {
  element: DashboardElement;
  options: ReadonlyMap<string, string>;
  state: SearchState;
  height: number;
  title: string;
}

function Results(props: ResultsProps) {
  const { element, options } = props;
  switch (element.kind) {
    case 'chart':
      return <ChartElement {...props} />;
    case 'single':
      return <SingleElement {...props} />;
    case 'event':
      return <EventElement {...props} />;
    case 'map':
      return <MapElement {...props} />;
    case 'unsupported': {
      // A report names its own, `display.visualizations.custom.type`.
      const type = element.vizType || options.get('type') || '';
      const kind = customKind(type);
      if (kind) return <CustomElement {...props} kind={kind} type={type} />;
      return (
        <>
          <p className={styles.unsupported} role="note">
            {`The visualization ${type || element.written} is not drawn. The table has the results.`}
          </p>
          <TableElement {...props} />
        </>
      );
    }
    default:
      return <TableElement {...props} />;
  }
}

interface ElementMenuProps {
  element: DashboardElement;
  state: SearchState;
  title: string;
  box: React.RefObject<HTMLElement | null>;
}

function ElementMenu({ element, state, title, box }: ElementMenuProps) {
  const [zone] = useZone();
  const { run, editing } = useDashboard();
  const button = useRef<HTMLButtonElement>(null);
  const isRunning = state.phase === 'running' || state.phase === 'queued';
  const hides = !flag(element.options.get('link.visible'), true);
  if (hides || editing) return null;
  const open = () => {
    if (state.ran)
      window.open(searchAddress(state.ran.app, state.ran.search, state.ran), '_blank', 'noopener');
  };
  return (
    <div className={styles.tools}>
      <Menu position="bottom-end" withinPortal>
        <Menu.Target>
          <ActionIcon ref={button} size={24} aria-label={`Actions of ${title || 'this element'}`}>
            <IconDots size={15} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item leftSection={<IconSearch size={14} />} onClick={open} disabled={!state.ran}>
            Open in search
          </Menu.Item>
          <Menu.Item
            leftSection={<IconFileTypeCsv size={14} />}
            disabled={!state.rows}
            onClick={() => state.rows && saveCsv(title, state.rows)}
          >
            Export CSV
          </Menu.Item>
          {(element.kind === 'chart' || element.kind === 'map' || customKind(element.vizType)) && (
            <Menu.Item
              leftSection={<IconPhoto size={14} />}
              disabled={!state.rows}
              onClick={() => box.current && savePng(title, box.current)}
            >
              Export PNG
            </Menu.Item>
          )}
          <Menu.Item
            leftSection={<IconMaximize size={14} />}
            onClick={() => void box.current?.requestFullscreen?.()}
          >
            Full screen
          </Menu.Item>
          {isRunning ? (
            <Menu.Item
              leftSection={<IconPlayerStop size={14} />}
              onClick={() => element.search && run.manager.cancel(element.search.key)}
            >
              Stop
            </Menu.Item>
          ) : (
            <Menu.Item
              leftSection={<IconRefresh size={14} />}
              onClick={() => element.search && run.manager.rerun(element.search.key)}
            >
              Refresh
            </Menu.Item>
          )}
          {state.updated !== null && (
            <Menu.Label>Updated {clockTime(state.updated, zone)}</Menu.Label>
          )}
        </Menu.Dropdown>
      </Menu>
    </div>
  );
}

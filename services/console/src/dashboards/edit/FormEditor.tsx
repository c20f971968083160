/** Editing by form: the page itself with handles, and the properties of what is chosen beside it. */

import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { Editing } from '../DashboardContext';
import { readDashboard } from '../model/reader';
import { DashboardView } from '../pages/DashboardView';
import type { DashboardRun } from '../runtime/page';
import type { TimePreset, ViewInfo } from '../runtime/server';
import styles from './Editing.module.css';
import type { Selection } from './FormParts';
import { FIELDS, writeField } from './fields';
import { Inspector } from './Inspector';
import {
  type PanelKind,
  panelXml,
  type Target,
  targetOf,
  withCopy,
  withoutPanel,
  withPanel,
  withPanelMoved,
} from './operations';
import { inputsOf, positionOf, rowsOf } from './outline';
import { rekeyed, type Version } from './rekeyed';
import { type Source, sourceOf } from './source';
import { ShownContext } from './useColumns';

interface FormEditorProps {
  view: ViewInfo;
  times: readonly TimePreset[];
  text: string;
  onEdit: (edit: (text: string) => string) => void;
  onSource: (line: number) => void;
}

const FIRST_SEARCHES: Record<PanelKind, [search: string, title: string]> = {
  chart: ['index=* | timechart count', 'Events over time'],
  table: ['index=* | stats count by host', 'Events by host'],
  single: ['index=* | stats count', 'Events'],
  event: ['index=*', 'Latest events'],
  map: ['index=* | iplocation clientip | geostats count', 'Map'],
  html: ['', 'Text'],
};

/** A panel that shows something at once. */
function newPanel(kind: PanelKind, source: Source): string {
  const [search, title] = FIRST_SEARCHES[kind];
  const time = inputsOf(source).find(
    (input) =>
      input.attributes.get('type')?.toLowerCase() === 'time' && input.attributes.get('token'),
  );
  const token = time?.attributes.get('token');
  const range = token
    ? { earliest: `$${token}.earliest$`, latest: `$${token}.latest$` }
    : { earliest: '-24h@h', latest: 'now' };
  return panelXml({ kind, title, search, ...range });
}

/** The dashboard of a text, with the keys of the version before. */
function useVersions(text: string): Version {
  const last = useRef<{ version: Version; count: number } | null>(null);
  return useMemo(() => {
    const before = last.current;
    if (before?.version.text === text) return before.version;
    const read = { text, dashboard: readDashboard(text) };
    const count = (before?.count ?? 0) + 1;
    const version = before ? { text, dashboard: rekeyed(read, before.version, count) } : read;
    last.current = { version, count };
    return version;
  }, [text]);
}

export function FormEditor({ view, times, text, onEdit, onSource }: FormEditorProps) {
  const { dashboard } = useVersions(text);
  const source = useMemo(() => sourceOf(text), [text]);
  const rows = useMemo(() => rowsOf(source), [source]);
  const [selection, setSelection] = useState<Selection>({ kind: 'dashboard' });
  const [dragged, setDragged] = useState<number | null>(null);
  const [focused, setFocused] = useState<number | null>(null);
  const [told, setTold] = useState('');
  const [run, setRun] = useState<DashboardRun | null>(null);
  const shown = useMemo(() => ({ dashboard, run }), [dashboard, run]);
  const latest = useRef({ source, rows });
  latest.current = { source, rows };

  const placeOf = useCallback((at: Selection) => {
    if (at.kind !== 'panel') return null;
    return latest.current.rows[at.row]?.panels[at.panel]?.start ?? null;
  }, []);
  const selected =
    selection.kind === 'panel'
      ? (rows[selection.row]?.panels[selection.panel]?.start ?? null)
      : null;

  /** Changes the text, and chooses the panel that is at a place of the next one. */
  const change = useCallback(
    (next: string, panel: (rows: ReturnType<typeof rowsOf>) => Selection) => {
      onEdit(() => next);
      setSelection(panel(rowsOf(sourceOf(next))));
    },
    [onEdit],
  );

  const move = useCallback(
    (place: number, target: Target, byKey: boolean) => {
      const { source: now } = latest.current;
      const found = rowsOf(now)
        .flatMap(({ panels }) => panels)
        .find((one) => one.start === place);
      setDragged(null);
      if (!found) return;
      const body = now.text.slice(found.start, found.end);
      const next = withPanelMoved(now.text, place, target);
      if (next === now.text) return;
      const nextRows = rowsOf(sourceOf(next));
      const at = nextRows
        .flatMap(({ panels }, row) => panels.map((one, panel) => ({ one, row, panel })))
        .filter(({ one }) => next.slice(one.start, one.end) === body)
        .sort((a, b) => distance(a, target) - distance(b, target))[0];
      onEdit(() => next);
      if (!at) return;
      setSelection({ kind: 'panel', row: at.row, panel: at.panel });
      if (byKey) setFocused(at.one.start);
      setTold(
        `Row ${at.row + 1} of ${nextRows.length}, place ${at.panel + 1} of ${nextRows[at.row]?.panels.length ?? 1}`,
      );
    },
    [onEdit],
  );

  const editing = useMemo<Editing>(
    () => ({
      selected,
      focused,
      dragged,
      select: (place) => {
        setFocused(null);
        const at = positionOf(latest.current.rows, place);
        if (at) setSelection({ kind: 'panel', ...at });
      },
      drag: setDragged,
      canStep: (place, direction) => {
        const at = positionOf(rows, place);
        return at !== null && targetOf(rows, at, direction) !== null;
      },
      step: (place, direction) => {
        const at = positionOf(latest.current.rows, place);
        const target = at && targetOf(latest.current.rows, at, direction);
        if (target) move(place, target, true);
        else setTold('It is already at the edge');
      },
      move: (place, target) => move(place, target, false),
      copy: (place) => {
        const at = positionOf(latest.current.rows, place);
        const next = withCopy(latest.current.source.text, place);
        if (at) change(next, () => ({ kind: 'panel', row: at.row, panel: at.panel + 1 }));
      },
      remove: (place) => {
        change(withoutPanel(latest.current.source.text, place), () => ({ kind: 'dashboard' }));
        setTold('Removed. Undo brings it back');
      },
      add: (kind, at) => {
        const { source: now } = latest.current;
        change(withPanel(now.text, newPanel(kind, now), at), (all) => {
          const row = at.row ?? at.newRow ?? all.length - 1;
          return { kind: 'panel', row, panel: (all[row]?.panels.length ?? 1) - 1 };
        });
      },
      resize: (element, height) => {
        const field = FIELDS.viz?.[0];
        if (field) onEdit((now) => writeField(now, element, field, String(height)));
      },
    }),
    [selected, focused, dragged, rows, move, change, onEdit],
  );

  // What was chosen may be gone, by undo.
  useEffect(() => {
    if (selection.kind === 'panel' && placeOf(selection) === null) {
      setSelection({ kind: 'dashboard' });
    }
  }, [selection, placeOf]);

  return (
    <div className={styles.sides}>
      <div>
        <DashboardView
          dashboard={dashboard}
          app={view.app}
          view={view.name}
          times={times}
          onRun={setRun}
          editing={editing}
        />
        <span className="visually-hidden" role="status" aria-live="polite">
          {told}
        </span>
      </div>
      <ShownContext.Provider value={shown}>
        <Inspector
          app={view.app}
          source={source}
          rows={rows}
          selection={selection}
          onSelect={setSelection}
          onEdit={onEdit}
          onSource={onSource}
        />
      </ShownContext.Provider>
    </div>
  );
}

/** How far a panel is from where it was to go: equal ones are told apart by it. */
function distance(at: { row: number; panel: number }, target: Target): number {
  const row = 'newRow' in target ? target.newRow : target.row;
  const index = 'newRow' in target ? 0 : target.index;
  return 100 * Math.abs(at.row - row) + Math.abs(at.panel - index);
}

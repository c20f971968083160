/** The running dashboard for its components, and what they subscribe to. */

import {
  createContext,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useSyncExternalStore,
} from 'react';
import type { Direction, PanelKind, Target } from './edit/operations';
import type { Dashboard } from './model/types';
import { IDLE, type SearchState } from './runtime/manager';
import type { DashboardRun } from './runtime/page';
import type { DashboardServer } from './runtime/server';
import { isShown, substitute } from './runtime/tokens';

export interface Running {
  run: DashboardRun;
  server: DashboardServer;
  /** A CSS selector of the dashboard, for styles of its app. */
  scope: string;
  dashboard: Dashboard;
  /** What its editor does with parts of it; null where it is looked at. */
  editing: Editing | null;
}

/** Panels are named by their places in the text. */
export interface Editing {
  /** What the form beside the dashboard is about. */
  selected: number | null;
  /** The panel whose handle takes the focus, as keys have moved it. */
  focused: number | null;
  /** The panel that is dragged. */
  dragged: number | null;
  select: (panel: number) => void;
  drag: (panel: number | null) => void;
  step: (panel: number, direction: Direction) => void;
  canStep: (panel: number, direction: Direction) => boolean;
  move: (panel: number, target: Target) => void;
  copy: (panel: number) => void;
  remove: (panel: number) => void;
  /** Into a row, or into a row of its own. */
  add: (kind: PanelKind, at: { row?: number; newRow?: number }) => void;
  /** The height of an element in pixels. */
  resize: (element: number, height: number) => void;
}

export const DashboardContext = createContext<Running | null>(null);

export function useDashboard(): Running {
  const running = useContext(DashboardContext);
  if (!running) throw new Error('a part of a dashboard is outside of it');
  return running;
}

/** Draws again when a token changes. */
export function useTokens(): DashboardRun['tokens'] {
  const { run } = useDashboard();
  useSyncExternalStore(run.tokens.subscribe, () => run.tokens.version);
  return run.tokens;
}

/** A text with the tokens that searches use; one that is not defined stays as it is written. */
export function useText(text: string | null): string {
  const tokens = useTokens();
  return text === null ? '' : substitute(text, tokens.submitted).text;
}

/** Options with tokens in their values. */
export function useOptions(options: ReadonlyMap<string, string>): ReadonlyMap<string, string> {
  const tokens = useTokens();
  const pairs = [...options].map(
    ([name, value]) => [name, substitute(value, tokens.submitted).text] as const,
  );
  const key = JSON.stringify(pairs);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key says whether the pairs changed
  return useMemo(() => new Map(pairs), [key]);
}

export function useIsShown(depends: string[], rejects: string[]): boolean {
  const { editing } = useDashboard();
  const tokens = useTokens();
  // What is hidden has to be found by its editor.
  return editing !== null || isShown(depends, rejects, tokens.submitted);
}

/** The state of a search; `isWatched`: an element shows it, so it runs. */
export function useSearch(key: string | null, isWatched: boolean): SearchState {
  const { run } = useDashboard();
  const subscribe = useCallback(
    (listener: () => void) => (key === null ? () => {} : run.manager.subscribe(key, listener)),
    [run, key],
  );
  useEffect(() => {
    if (key !== null && isWatched) return run.manager.watch(key);
  }, [run, key, isWatched]);
  return useSyncExternalStore(subscribe, () => (key === null ? IDLE : run.manager.state(key)));
}

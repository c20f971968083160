/** The columns of the results that an element shows beside its form: suggestions for its fields. */

import { createContext, useCallback, useContext, useSyncExternalStore } from 'react';
import type { Dashboard } from '../model/types';
import { IDLE } from '../runtime/manager';
import type { DashboardRun } from '../runtime/page';

interface Shown {
  dashboard: Dashboard;
  /** Null until it runs. */
  run: DashboardRun | null;
}

export const ShownContext = createContext<Shown | null>(null);

/** Of the element at a place; empty without results. */
export function useColumns(place: number): readonly string[] {
  const shown = useContext(ShownContext);
  const manager = shown?.run?.manager;
  const key = shown?.dashboard.rows
    .flatMap(({ panels }) => panels)
    .flatMap(({ elements }) => elements)
    .find((element) => element.place[0] === place)?.search?.key;
  const subscribe = useCallback(
    (listener: () => void) =>
      manager && key !== undefined ? manager.subscribe(key, listener) : () => {},
    [manager, key],
  );
  const state = useSyncExternalStore(subscribe, () =>
    manager && key !== undefined ? manager.state(key) : IDLE,
  );
  const fields = state.rows?.fields ?? [];
  return fields.filter((name) => !name.startsWith('_') || name === '_time');
}

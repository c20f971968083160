/**
 * The next version of a dashboard with the keys of the one before, so that what has not changed is neither
 * drawn nor searched again: panels by their text, those that have changed by their order.
 */

import type { Dashboard, DashboardElement, Input, Panel, Place, Row, Search } from '../model/types';

export interface Version {
  text: string;
  dashboard: Dashboard;
}

interface Placed {
  key: string;
  place: Place;
}

const written = (text: string, { place: [from, to] }: Placed): string => text.slice(from, to);

/** For each of the next items the one before that it was; by text first, then by order. */
function pairs<T extends Placed>(
  next: readonly T[],
  nextText: string,
  before: readonly T[],
  beforeText: string,
): Map<T, T> {
  const found = new Map<T, T>();
  const waiting = new Map<string, T[]>();
  for (const one of before) {
    const text = written(beforeText, one);
    const same = waiting.get(text);
    if (same) same.push(one);
    else waiting.set(text, [one]);
  }
  for (const one of next) {
    const same = waiting.get(written(nextText, one))?.shift();
    if (same) found.set(one, same);
  }
  const taken = new Set(found.values());
  const left = before.filter((one) => !taken.has(one));
  for (const one of next) {
    if (found.has(one)) continue;
    const other = left.shift();
    if (other) found.set(one, other);
  }
  return found;
}

class Rekeying {
  readonly #fresh: string;

  constructor(version: number) {
    this.#fresh = `v${version}-`;
  }

  dashboard(next: Version, before: Version): Dashboard {
    const panelsOf = ({ dashboard }: Version) => dashboard.rows.flatMap((row) => row.panels);
    const panels = pairs(panelsOf(next), next.text, panelsOf(before), before.text);
    const rows = pairs(next.dashboard.rows, next.text, before.dashboard.rows, before.text);
    const inputs = pairs(next.dashboard.inputs, next.text, before.dashboard.inputs, before.text);
    const old = before.dashboard.searches;
    return {
      ...next.dashboard,
      inputs: next.dashboard.inputs.map((input) => this.#input(input, inputs.get(input))),
      rows: next.dashboard.rows.map((row) => this.#row(row, rows.get(row), panels)),
      searches: next.dashboard.searches.map((search, at) =>
        this.#search(search, old.find((one) => one.id !== null && one.id === search.id) ?? old[at]),
      ),
    };
  }

  #key(own: string, before: { key: string } | null | undefined): string {
    return before?.key ?? this.#fresh + own;
  }

  #row(row: Row, before: Row | undefined, panels: ReadonlyMap<Panel, Panel>): Row {
    return {
      ...row,
      key: this.#key(row.key, before),
      panels: row.panels.map((panel) => this.#panel(panel, panels.get(panel))),
    };
  }

  #panel(panel: Panel, before: Panel | undefined): Panel {
    return {
      ...panel,
      key: this.#key(panel.key, before),
      inputs: panel.inputs.map((input, at) => this.#input(input, before?.inputs[at])),
      elements: panel.elements.map((element, at) => this.#element(element, before?.elements[at])),
    };
  }

  #element(element: DashboardElement, before: DashboardElement | undefined): DashboardElement {
    return {
      ...element,
      key: this.#key(element.key, before),
      search: element.search && this.#search(element.search, before?.search),
    };
  }

  #input(input: Input, before: Input | undefined): Input {
    return {
      ...input,
      key: this.#key(input.key, before),
      search: input.search && this.#search(input.search, before?.search),
    };
  }

  #search(search: Search, before: Search | null | undefined): Search {
    return { ...search, key: this.#key(search.key, before) };
  }
}

/** `version` is another number at each call: it makes the keys of what is new. */
export const rekeyed = (next: Version, before: Version, version: number): Dashboard =>
  new Rekeying(version).dashboard(next, before);

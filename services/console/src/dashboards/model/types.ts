/** A dashboard as the console runs it: what the reader makes of Simple XML. */

import type { Report } from './features';
import type { BuiltInShapes } from './geom';

/** Names of options are in lower case. */
export type Options = ReadonlyMap<string, string>;

export type Action =
  | { kind: 'set'; token: string; value: string; prefix: string; suffix: string }
  | { kind: 'unset'; token: string }
  | { kind: 'eval'; token: string; expression: string }
  | { kind: 'link'; href: string; target: string; field: string };

export interface Condition {
  field: string | null;
  value: string | null;
  label: string | null;
  match: string | null;
  actions: Action[];
}

/** Where something begins and ends in the text of its view; nothing of a view is at 0 but its root. */
export type Place = readonly [number, number];

/** What happens on an event: the actions that always run, then those of the first condition that holds. */
export interface Handler {
  always: Action[];
  conditions: Condition[];
  target: string;
}

export type SearchEventName = 'progress' | 'preview' | 'done' | 'finalized' | 'error' | 'cancelled';

export interface Search {
  /** Names it among all searches of the page. */
  key: string;
  id: string | null;
  source:
    | { kind: 'query'; query: string }
    | { kind: 'base'; base: string; query: string }
    | { kind: 'report'; name: string; app: string | null };
  /** Null where nothing is said: the page's, or all time. */
  earliest: string | null;
  latest: string | null;
  /** With tokens. */
  refresh: string | null;
  refreshType: 'delay' | 'interval';
  handlers: Partial<Record<SearchEventName, Handler>>;
  depends: string[];
  rejects: string[];
  line: number;
}

export type ColorPalette =
  | { type: 'minMidMax'; min: string; mid: string | null; max: string }
  | { type: 'map'; colors: Map<string, string> }
  | { type: 'list'; colors: string[] }
  | { type: 'sharedList' }
  | { type: 'expression'; expression: string };

export interface ColorScale {
  type: 'minMidMax' | 'threshold' | 'category' | 'sharedCategory' | 'none';
  values: string[];
  minType: string | null;
  minValue: string | null;
  midType: string | null;
  midValue: string | null;
  maxType: string | null;
  maxValue: string | null;
}

export interface CellFormat {
  type: 'color' | 'number' | 'sparkline';
  /** Null for every column. */
  field: string | null;
  palette: ColorPalette | null;
  scale: ColorScale | null;
  options: Options;
}

export type ElementKind = 'table' | 'chart' | 'single' | 'event' | 'map' | 'html' | 'unsupported';

export interface DashboardElement {
  key: string;
  id: string | null;
  kind: ElementKind;
  /** As written: `map`, `viz`. */
  written: string;
  /** Of a custom visualization. */
  vizType: string;
  title: string | null;
  description: string | null;
  depends: string[];
  rejects: string[];
  search: Search | null;
  options: Options;
  /** Order and choice of the columns; empty for all. */
  fields: string[];
  formats: CellFormat[];
  drilldown: Handler | null;
  /** Of a map: outlines of the console that its search asked the server for. */
  shapes: BuiltInShapes | null;
  /** What a selected span of a chart sets. */
  selection: Handler | null;
  /** Of an HTML panel, as written. */
  html: string;
  place: Place;
}

export type InputKind =
  | 'text'
  | 'dropdown'
  | 'radio'
  | 'multiselect'
  | 'checkbox'
  | 'link'
  | 'time'
  | 'submit';

export interface Choice {
  value: string;
  label: string;
}

export interface Input {
  key: string;
  id: string | null;
  kind: InputKind;
  /** Null for the time input whose tokens are `earliest` and `latest`. */
  token: string | null;
  label: string | null;
  searchWhenChanged: boolean;
  depends: string[];
  rejects: string[];
  choices: Choice[];
  search: Search | null;
  fieldForLabel: string;
  fieldForValue: string;
  selectFirstChoice: boolean;
  allowCustomValues: boolean;
  /**
   * Null where nothing is said. Several for inputs with several values; of a time input, earliest and
   * latest.
   */
  default: string[] | null;
  initial: string[] | null;
  prefix: string;
  suffix: string;
  valuePrefix: string;
  valueSuffix: string;
  delimiter: string;
  change: Handler | null;
  line: number;
  place: Place;
}

export interface Panel {
  key: string;
  id: string | null;
  title: string | null;
  description: string | null;
  depends: string[];
  rejects: string[];
  inputs: Input[];
  elements: DashboardElement[];
  /** The prebuilt panel it stands for. */
  reference: { name: string; app: string | null } | null;
  place: Place;
}

export interface Row {
  key: string;
  id: string | null;
  depends: string[];
  rejects: string[];
  panels: Panel[];
  place: Place;
  /** Whether its elements are put into panels by `grouping`: the panels do not stand in the text. */
  isGrouped: boolean;
}

export interface Dashboard {
  isForm: boolean;
  label: string;
  description: string;
  theme: 'light' | 'dark' | null;
  hideTitle: boolean;
  hideFilters: boolean;
  hideEdit: boolean;
  hideExport: boolean;
  /** Seconds between two runs of everything; null for never. */
  refresh: number | null;
  scripts: string[];
  stylesheets: string[];
  submitButton: boolean;
  autoRun: boolean;
  /** Those above the rows. */
  inputs: Input[];
  rows: Row[];
  /** Those of the page, in its rows and panels without an element. */
  searches: Search[];
  init: Action[];
  report: Report;
}

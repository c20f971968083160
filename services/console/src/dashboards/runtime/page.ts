/**
 * A dashboard that runs: its tokens, inputs and searches, and what happens when something is chosen, clicked or
 * found. Outside of React; components subscribe.
 */

import { allInputs, allSearches } from '../model/reader';
import type {
  Action,
  Condition,
  Dashboard,
  DashboardElement,
  Handler,
  Input,
  Panel,
  Search,
  SearchEventName,
} from '../model/types';
import { columnsOf } from './columns';
import { evaluate, holds, type Lists, toText } from './expression';
import { initialValues, isMultiple, tokenText } from './inputValues';
import {
  type Bounds,
  type Click,
  clickLookup,
  eventsBehind,
  linkAddress,
  searchAddress,
} from './links';
import { SearchManager, type SearchState } from './manager';
import { seriesCondition } from './series';
import type { SearchServer, TimePreset } from './server';
import { type Lookup, substitute, TokenStore } from './tokens';

/** Handlers that set off each other end here. */
const MAX_CASCADE = 50;

export interface PageOptions {
  dashboard: Dashboard;
  app: string;
  view: string;
  user: string;
  server: SearchServer;
  timezone: string;
  /** What asks, for the audit trail; that of a dashboard without it. */
  provenance?: string | undefined;
  /** The query of the address. */
  query: URLSearchParams;
  times: readonly TimePreset[];
  /** Opens an address; in a new tab if the target says so. */
  open: (address: string, target: string) => void;
  /** Hears of the query that leads back to what is shown, and whether a person has made the change. */
  onQuery?: (query: URLSearchParams, isChoice: boolean) => void;
}

/** As short and plain as the server takes it. */
const provenanceOf = (view: string): string =>
  `UI:Dashboard:${view.replace(/\p{Cc}/gu, '')}`.slice(0, 60);

export class DashboardRun {
  readonly tokens: TokenStore;
  readonly manager: SearchManager;
  readonly #options: PageOptions;
  /** What inputs show. */
  readonly #values = new Map<string, string[]>();
  /** What searches use of it; the address has this. */
  #submitted: ReadonlyMap<string, string[]> = new Map();
  readonly #byToken = new Map<string, Input>();
  #dashboard: Dashboard;
  #inputs: Input[] = [];
  #cascade = 0;
  /** Until a person chooses or submits, choices that inputs make belong to the first run. */
  #isFirstRun = false;
  /** Whether handlers or links have moved inputs since the address was told last. */
  #hasMoved = false;
  #problems: string[] = [];

  constructor(options: PageOptions) {
    this.#options = options;
    this.#dashboard = options.dashboard;
    this.tokens = new TokenStore(
      new Map([
        ['env:user', options.user],
        ['env:user_realname', options.user],
        ['env:app', options.app],
        ['env:page', options.view],
        ['env:view', options.view],
        ['env:view_label', options.dashboard.label],
        ['env:locale', 'en-US'],
        ['env:product', 'karst'],
        ['env:is_enterprise', 'true'],
      ]),
    );
    this.#takeInputs(options.dashboard);
    this.manager = new SearchManager(allSearches(options.dashboard), {
      server: options.server,
      tokens: this.tokens,
      app: options.app,
      timezone: options.timezone,
      provenance: options.provenance ?? provenanceOf(options.view),
      onEvent: (search, event, state) => this.#searchEvent(search, event, state),
    });
    this.#load();
  }

  get dashboard(): Dashboard {
    return this.#dashboard;
  }

  get app(): string {
    return this.#options.app;
  }

  /** Expressions of handlers that could not be computed. */
  get problems(): readonly string[] {
    return this.#problems;
  }

  dispose(): void {
    this.manager.dispose();
  }

  #takeInputs(dashboard: Dashboard): void {
    // Those of prebuilt panels were added later and stay.
    const added = this.#inputs.filter((input) => input.key.includes('/'));
    this.#inputs = [...allInputs(dashboard), ...added];
    this.#byToken.clear();
    for (const input of this.#inputs) {
      const name = nameOf(input);
      if (!this.#byToken.has(name)) this.#byToken.set(name, input);
    }
  }

  /**
   * Shows another version of the dashboard, as its editor makes them: what is chosen stays, and searches whose
   * text is the same are not run again. False where it has to begin anew, as inputs have changed.
   */
  replace(dashboard: Dashboard): boolean {
    if (beginning(dashboard) !== beginning(this.#dashboard)) return false;
    this.#dashboard = dashboard;
    this.#takeInputs(dashboard);
    this.manager.replace(allSearches(dashboard));
    return true;
  }

  /** Adds a prebuilt panel that was read later. */
  addPanel(panel: Panel): void {
    for (const input of panel.inputs) {
      this.#inputs.push(input);
      if (!this.#byToken.has(nameOf(input))) this.#byToken.set(nameOf(input), input);
    }
    this.manager.add([
      ...panel.inputs.flatMap((input) => input.search ?? []),
      ...panel.elements.flatMap((element) => element.search ?? []),
    ]);
    this.tokens.batch(() => {
      for (const input of panel.inputs) this.#begin(input);
      if (!this.#waitsForSubmit || this.#isFirstRun) this.#submit();
    });
    this.#hasMoved = false;
  }

  // -- begin

  #load(): void {
    const { query } = this.#options;
    this.tokens.batch(() => {
      this.#beginRange();
      this.#actions(this.dashboard.init, this.tokens.default, true);
      for (const name of new Set(query.keys())) {
        if (name.startsWith('form.')) continue;
        this.tokens.set(name, query.get(name) ?? '', true);
      }
      for (const input of this.#inputs) this.#begin(input);
      // Without a button everything is submitted; with one, what is to run at once.
      const hasQuery = [...query.keys()].some((name) => name.startsWith('form.'));
      this.#isFirstRun = !this.dashboard.submitButton || this.dashboard.autoRun || hasQuery;
      if (this.#isFirstRun) this.#submit();
    });
    // What a dashboard begins with is not a part of its address.
    this.#hasMoved = false;
    this.manager.start();
  }

  /** As in Splunk, `$earliest$` and `$latest$` are all time until a handler or the address sets them. */
  #beginRange(): void {
    if (this.#byToken.get('')?.kind === 'time') return;
    this.tokens.set('earliest', '0', true);
    this.tokens.set('latest', '', true);
  }

  #begin(input: Input): void {
    const { query, times } = this.#options;
    const name = nameOf(input);
    const values = fromQuery(input, query) ?? this.#fromToken(input) ?? initialValues(input, times);
    if (values !== null) {
      // Tokens in defaults: of the init handlers, of the address.
      const filled = values.map((value) => substitute(value, this.tokens.default).text);
      this.#choose(input, filled, !this.#waitsFor(input), null);
    }
    if (values === null) this.#values.delete(name);
  }

  /** A choice that an init handler has made. */
  #fromToken(input: Input): string[] | null {
    const name = nameOf(input);
    if (input.kind === 'time') {
      const earliest = this.tokens.default(input.token ? `form.${name}.earliest` : 'form.earliest');
      const latest = this.tokens.default(input.token ? `form.${name}.latest` : 'form.latest');
      return earliest !== undefined || latest !== undefined ? [earliest ?? '', latest ?? ''] : null;
    }
    const value = this.tokens.default(`form.${name}`);
    if (value === undefined) return null;
    return isMultiple(input) ? value.split(',') : [value];
  }

  get #waitsForSubmit(): boolean {
    return this.dashboard.submitButton;
  }

  #waitsFor(input: Input): boolean {
    return this.#waitsForSubmit && !input.searchWhenChanged;
  }

  // -- inputs

  /** What is chosen in an input. */
  values(input: Input): string[] {
    return this.#values.get(nameOf(input)) ?? [];
  }

  /** A person chooses values; `label` is that of the first one. */
  choose(input: Input, values: string[], label: string | null = null): void {
    const next = values.length === 0 ? this.#cleared(input) : values;
    this.#isFirstRun = false;
    this.tokens.batch(() => this.#choose(input, next, !this.#waitsFor(input), label));
    if (!this.#waitsFor(input)) this.#tellQuery(true);
  }

  /** An input chooses the first of the choices that its search has found. */
  chooseFirst(input: Input, value: string, label: string): void {
    const everywhere = this.#isFirstRun || !this.#waitsFor(input);
    this.tokens.batch(() => this.#choose(input, [value], everywhere, label));
    if (everywhere) this.#tellQuery(false);
  }

  /** An input that is cleared takes its default again, not its initial value. A text that a person empties has an empty value. */
  #cleared(input: Input): string[] {
    if (input.default === null) return [];
    const values = initialValues({ ...input, initial: null }, this.#options.times) ?? [];
    return values.map((value) => substitute(value, this.tokens.default).text);
  }

  submit(): void {
    this.#isFirstRun = false;
    this.#submit();
    this.#tellQuery(true);
  }

  #submit(): void {
    this.#submitted = new Map(this.#values);
    this.tokens.submit();
  }

  #submittedOf(input: Input): string[] {
    const usual = () => initialValues(input, this.#options.times) ?? [];
    return this.#submitted.get(nameOf(input)) ?? usual();
  }

  #choose(input: Input, values: string[], everywhere: boolean, label: string | null): void {
    const name = nameOf(input);
    // As in Splunk, a handler that sets what is chosen already is no change.
    const isSame = this.#cascade > 0 && this.#values.get(name)?.join('\n') === values.join('\n');
    this.#values.set(name, values);
    if (everywhere) this.#submitted = new Map(this.#submitted).set(name, values);
    if (input.kind === 'time') {
      const [earliest = '', latest = ''] = values;
      const prefix = input.token ? `${name}.` : '';
      for (const [part, value] of [
        ['earliest', earliest],
        ['latest', latest],
      ] as const) {
        this.tokens.set(`${prefix}${part}`, value, everywhere);
        this.tokens.set(`form.${prefix}${part}`, value, everywhere);
      }
    } else if (name !== '') {
      this.tokens.set(name, tokenText(input, values), everywhere);
      this.tokens.set(`form.${name}`, values.length > 0 ? values.join(',') : undefined, everywhere);
    }
    if (input.change && !isSame) this.#changed(input, values, everywhere, label);
  }

  #changed(input: Input, values: string[], everywhere: boolean, label: string | null): void {
    if (!input.change) return;
    const value = values.join(',');
    const known = input.choices.find((choice) => choice.value === values[0])?.label;
    const shown = label ?? known ?? value;
    const [earliest = '', latest = ''] = values;
    const lookup: Lookup = (name) => {
      if (name === 'value') return value;
      if (name === 'label') return shown;
      if (input.kind === 'time' && name === 'earliest') return earliest;
      if (input.kind === 'time' && name === 'latest') return latest;
      return this.tokens.default(name);
    };
    const fits = (condition: Condition) =>
      (condition.value === null ||
        condition.value === '*' ||
        substitute(condition.value, lookup).text === value) &&
      (condition.label === null || condition.label === '*' || condition.label === shown) &&
      (condition.match === null || holds(condition.match, lookup, this.#lists));
    this.#handle(input.change, fits, lookup, everywhere);
  }

  /** Tells the address of inputs that were moved for all to see; one that was moved to where it is is no step. */
  #tellMoves(isChoice: boolean): void {
    if (this.#hasMoved) this.#tellQuery(isChoice);
  }

  /** The query that leads back here: what searches use and is not the default. */
  #tellQuery(isChoice: boolean): void {
    this.#hasMoved = false;
    const query = new URLSearchParams();
    for (const [name, value] of this.#options.query) {
      if (!name.startsWith('form.')) query.append(name, value);
    }
    for (const input of this.#inputs) {
      const values = this.#submittedOf(input);
      const usual = initialValues(input, this.#options.times);
      if (values.join('\n') === (usual ?? []).join('\n')) continue;
      const name = nameOf(input);
      if (input.kind === 'time') {
        const prefix = input.token ? `form.${name}.` : 'form.';
        query.set(`${prefix}earliest`, values[0] ?? '');
        query.set(`${prefix}latest`, values[1] ?? '');
      } else if (name !== '') for (const value of values) query.append(`form.${name}`, value);
    }
    this.#options.onQuery?.(query, isChoice);
  }

  // -- handlers

  #handle(
    handler: Handler,
    fits: (condition: Condition) => boolean,
    lookup: Lookup,
    everywhere: boolean,
    click = false,
  ): void {
    if (this.#cascade >= MAX_CASCADE) return;
    this.#cascade += 1;
    this.tokens.batch(() => {
      this.#actions(handler.always, lookup, everywhere, click);
      const condition = handler.conditions.find(fits);
      if (condition) this.#actions(condition.actions, lookup, everywhere, click);
    });
    this.#cascade -= 1;
  }

  /** Each action sees what those before it have set. */
  #actions(actions: Action[], lookup: Lookup, everywhere: boolean, click = false): void {
    for (const action of actions) {
      switch (action.kind) {
        case 'set': {
          const found = substitute(action.value, lookup);
          // A value that is not there leaves the token undefined, as what waits for it must wait.
          const isDefined = found.missing.length === 0;
          this.#setToken(
            action.token,
            isDefined ? action.prefix + found.text + action.suffix : undefined,
            everywhere,
          );
          break;
        }
        case 'unset':
          this.#setToken(action.token, undefined, everywhere);
          break;
        case 'eval': {
          const value = this.#evaluated(action.expression, lookup);
          // A token that cannot be computed stays as it is: unset, it would empty its input.
          if (value !== null) this.#setToken(action.token, value, everywhere);
          break;
        }
        case 'link': {
          if (!click) break;
          const address = linkAddress(action.href, lookup, this.#options.app);
          // The way back from there leads to the inputs as they were left.
          this.#tellMoves(true);
          if (address !== null) this.#options.open(address, action.target);
          break;
        }
      }
    }
  }

  /** Undefined for a null of the expression; null for an expression that cannot be computed. */
  #evaluated(expression: string, lookup: Lookup): string | undefined | null {
    try {
      const value = evaluate(expression, lookup, this.#lists);
      return value === null ? undefined : toText(value);
    } catch (error) {
      const problem = `${expression}: ${error instanceof Error ? error.message : String(error)}`;
      if (!this.#problems.includes(problem)) this.#problems = [...this.#problems, problem];
      return null;
    }
  }

  /** `form.X` of an input with several values: `mvcount` counts its choices. */
  #lists: Lists = (name) => {
    const input = name.startsWith('form.') ? this.#byToken.get(name.slice(5)) : undefined;
    return input && isMultiple(input) ? this.values(input) : undefined;
  };

  #setToken(name: string, value: string | undefined, everywhere: boolean): void {
    const written = name.replace(/^\$|\$$/g, '');
    if (!written.startsWith('form.')) {
      this.tokens.set(written, value, everywhere);
      return;
    }
    // `form.X` moves the input.
    const inner = written.slice(5);
    const time = /^(?:(.+)\.)?(earliest|latest)$/.exec(inner);
    const input = this.#byToken.get(time ? (time[1] ?? '') : inner) ?? this.#byToken.get(inner);
    if (!input) {
      this.tokens.set(written, value, everywhere);
      return;
    }
    if (input.kind === 'time' && time) {
      const [earliest = '', latest = ''] = this.values(input);
      const next = time[2] === 'earliest' ? [value ?? '', latest] : [earliest, value ?? ''];
      this.#move(input, next, everywhere);
    } else {
      // Before the input has begun, its initial value comes first.
      const none = this.#values.has(nameOf(input)) ? this.#cleared(input) : [];
      const values = value === undefined ? none : isMultiple(input) ? value.split(',') : [value];
      this.#move(input, values, everywhere);
    }
  }

  /** A handler or a link chooses values. Those that wait for the button are told when it is pressed. */
  #move(input: Input, values: string[], everywhere: boolean): void {
    const isSame = this.#submittedOf(input).join('\n') === values.join('\n');
    if (everywhere && !isSame) this.#hasMoved = true;
    this.#choose(input, values, everywhere, null);
  }

  /** A link in an HTML panel that sets or unsets tokens. */
  setTokens(set: Record<string, string>, unset: string[]): void {
    this.tokens.batch(() => {
      for (const [name, value] of Object.entries(set)) this.#setToken(name, value, true);
      for (const name of unset) this.#setToken(name, undefined, true);
    });
    this.#tellMoves(true);
  }

  #searchEvent(search: Search, event: SearchEventName, state: SearchState): void {
    const handler = search.handlers[event];
    if (!handler) return;
    const lookup: Lookup = (name) => {
      if (name.startsWith('job.')) return jobValue(state, name.slice(4));
      if (name.startsWith('result.')) return resultValue(state, name.slice(7));
      return this.tokens.default(name);
    };
    const fits = (condition: Condition) =>
      condition.match === null || holds(condition.match, lookup, this.#lists);
    this.#handle(handler, fits, lookup, true);
    this.#tellMoves(false);
  }

  // -- clicks

  /** Whether something happens when an element is clicked. */
  isClickable(element: DashboardElement): boolean {
    return element.drilldown !== null || element.search !== null;
  }

  /** A span of a chart is selected; the whole chart at the beginning. */
  select(element: DashboardElement, span: Span): void {
    if (!element.selection) return;
    const lookup: Lookup = (name) => {
      if (name === 'start') return span.start;
      if (name === 'end') return span.end;
      if (name.startsWith('start.')) return span.first.get(name.slice(6));
      if (name.startsWith('end.')) return span.last.get(name.slice(4));
      return this.tokens.submitted(name);
    };
    const fits = (condition: Condition) =>
      condition.match === null || holds(condition.match, lookup, this.#lists);
    this.#handle(element.selection, fits, lookup, true);
    // A chart selects its whole span itself when it is drawn: no step of a person.
    this.#tellMoves(false);
  }

  click(element: DashboardElement, click: Click, newTab: boolean): void {
    const state = element.search ? this.manager.state(element.search.key) : null;
    const range: Bounds = {
      earliest: state?.ran?.earliest ?? '',
      latest: state?.ran?.latest ?? '',
    };
    const lookup = clickLookup(click, this.tokens.submitted, range);
    const { drilldown } = element;
    if (drilldown && (drilldown.always.length > 0 || drilldown.conditions.length > 0)) {
      const fits = (condition: Condition) =>
        (condition.field === null || condition.field === '*' || condition.field === click.name2) &&
        (condition.match === null || holds(condition.match, lookup, this.#lists));
      const always = drilldown.always.filter(
        (action) =>
          action.kind !== 'link' ||
          action.field === '' ||
          action.field === click.name2 ||
          action.field === '*',
      );
      const open = this.#options.open;
      if (newTab) this.#options.open = (address) => open(address, '_blank');
      this.#handle({ ...drilldown, always }, fits, lookup, true, true);
      this.#options.open = open;
      this.#tellMoves(true);
      return;
    }
    if (!state?.ran) return;
    const { terms, absent } = conditionsOf(element, click, state.ran.search);
    const search = eventsBehind(state.ran.search, terms, absent);
    const bounds: Bounds = {
      earliest: click.earliest ?? state.ran.earliest,
      latest: click.latest ?? state.ran.latest,
    };
    this.#options.open(searchAddress(state.ran.app, search, bounds), newTab ? '_blank' : '');
  }
}

/** What a dashboard begins with: its inputs and what it sets when it is opened. */
function beginning({ inputs, rows, init, submitButton, autoRun }: Dashboard): string {
  const all = [...inputs, ...rows.flatMap((row) => row.panels).flatMap((panel) => panel.inputs)];
  const told = all.map(({ key: _, place: __, line: ___, search, ...input }) => ({
    ...input,
    search: search?.source,
  }));
  return JSON.stringify([told, init, submitButton, autoRun]);
}

/** A span of a chart: its first and last category, with their rows. */
export interface Span {
  start: string;
  end: string;
  first: ReadonlyMap<string, string>;
  last: ReadonlyMap<string, string>;
}

/** The conditions for the events behind a click: of the fields by which the search groups, not of what it computes. */
function conditionsOf(
  element: DashboardElement,
  click: Click,
  search: string,
): { terms: [string, ...string[]][]; absent: string } {
  const { report, fieldOf } = columnsOf(search);
  const cells: [string, string][] = [];
  const isTable = element.kind === 'table';
  if (element.kind !== 'single') cells.push([click.name, click.value]);
  if (isTable && isCellDrilldown(element)) cells.push([click.name2, click.value2]);
  // A row, and a value that is computed for it, are of its whole group.
  if (isTable && report !== '' && !(isCellDrilldown(element) && fieldOf(click.name2) !== null)) {
    cells.push(...[...click.row].filter(([, value]) => !value.includes('\n')));
  }
  if (click.trellis) cells.push([click.trellis.name, click.trellis.value]);
  const terms = new Map<string, string>();
  for (const [name, value] of cells) {
    const field = fieldOf(name);
    if (field !== null) terms.set(field, value);
  }
  const series = seriesOf(element, click, search);
  if (series) terms.delete(series.field);
  const [value, ...others] = series?.values ?? [];
  const all: [string, ...string[]][] = [...terms];
  if (series && value !== undefined) all.push([series.field, value, ...others]);
  return { terms: all, absent: series?.isAbsent ? series.field : '' };
}

/** Of a chart, the series is a value of the split field, which only the search names; so is a panel of series. */
function seriesOf({ kind }: DashboardElement, { name2, row, trellis }: Click, search: string) {
  const isAggregation = trellis?.name === AGGREGATION;
  const isPanel = trellis !== undefined && !isAggregation && !row.has(trellis.name);
  if (isPanel) return seriesCondition(search, trellis.value, true);
  return kind === 'chart' ? seriesCondition(search, name2, isAggregation) : null;
}

/** What a trellis by aggregations is split by. */
const AGGREGATION = '_aggregation';

const isCellDrilldown = (element: DashboardElement): boolean =>
  (element.options.get('drilldown') ?? 'cell').toLowerCase() === 'cell';

/** The name of an input among the tokens; empty for the time range of the page. */
export const nameOf = (input: Input): string =>
  input.token ?? (input.kind === 'time' ? '' : `:${input.key}`);

function fromQuery(input: Input, query: URLSearchParams): string[] | null {
  const name = nameOf(input);
  if (input.kind === 'time') {
    const prefixes = input.token ? [`form.${name}.`] : ['form.', ''];
    for (const prefix of prefixes) {
      const earliest = query.get(`${prefix}earliest`);
      const latest = query.get(`${prefix}latest`);
      if (earliest !== null || latest !== null) return [earliest ?? '', latest ?? ''];
    }
    return null;
  }
  const values = query.getAll(`form.${name}`);
  return values.length > 0 ? values : null;
}

function jobValue(state: SearchState, name: string): string | undefined {
  const { job, sid } = state;
  if (name === 'sid') return sid ?? undefined;
  if (name === 'search') return state.ran?.search;
  if (!job) return undefined;
  const values: Record<string, string | number | boolean> = {
    resultCount: job.resultCount,
    eventCount: job.eventCount,
    scanCount: job.scanCount,
    runDuration: job.runDuration,
    doneProgress: job.doneProgress,
    dispatchState: job.dispatchState,
    isDone: job.isDone,
    isFailed: job.isFailed,
    isFinalized: job.isFinalized,
    earliestTime: job.earliestTime,
    latestTime: job.latestTime,
    messages: job.messages.map((message) => message.text).join('\n'),
  };
  const value = Object.hasOwn(values, name) ? values[name] : undefined;
  return value === undefined ? undefined : String(value);
}

function resultValue(state: SearchState, field: string): string | undefined {
  const { rows } = state;
  const column = rows?.fields.indexOf(field) ?? -1;
  const cell = column === -1 ? null : (rows?.rows[0]?.[column] ?? null);
  if (cell === null) return undefined;
  return Array.isArray(cell) ? cell.join(',') : cell;
}

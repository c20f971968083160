/** From rows to what a custom visualization shows: the columns that each kind takes, by their order as in its app. */

import type { ResultRows } from '../../api/types';
import { grouped } from '../../app/format';
import { cellNumber, cellText, isNumericIn, timeColumnOf } from '../../statistics/table';
import { isoTime, parseTime } from '../../time/zone';
import type { CustomKind } from './kinds';

export interface Link {
  source: string;
  target: string;
  value: number;
  row: number;
}

export interface Branch {
  name: string;
  value: number;
  /** The first of its rows. */
  row: number;
  children: Branch[];
}

export interface GridCell {
  x: number;
  y: number;
  value: number;
  row: number;
}

export interface TimelineItem {
  lane: number;
  /** Epoch seconds. */
  start: number;
  end: number;
  group: string;
  row: number;
}

export type CustomModel =
  | { kind: 'links'; links: Link[]; names: string[]; left: number }
  | { kind: 'tree'; branches: Branch[]; valueName: string }
  | { kind: 'grid'; xs: string[]; ys: string[]; cells: GridCell[]; names: [string, string, string] }
  | { kind: 'calendar'; days: { day: string; value: number; row: number }[]; valueName: string }
  | { kind: 'timeline'; lanes: string[]; groups: string[]; items: TimelineItem[] }
  | { kind: 'value'; value: number | null; text: string; name: string; cells: Map<string, string> }
  | { kind: 'parallel'; axes: { name: string; values: string[] | null }[]; lines: number[][] };

export interface Made {
  /** Null where the columns do not fit. */
  model: CustomModel | null;
  /** What it needs, or what is left out. */
  note: string | null;
}

/** Rows that are drawn; what is more is said to be. */
const MOST_ROWS = 5_000;
const MOST_LINKS = 1_000;

interface Column {
  name: string;
  at: number;
  isNumeric: boolean;
}

class Reading {
  readonly results: ResultRows;
  readonly columns: Column[];
  readonly count: number;
  readonly timeAt: number;

  constructor(results: ResultRows) {
    this.results = results;
    this.columns = results.fields
      .map((name, at) => ({ name, at, isNumeric: isNumericIn(results, at) }))
      .filter(({ name }) => !name.startsWith('_') || name === '_time');
    this.timeAt = timeColumnOf(results);
    this.count = Math.min(MOST_ROWS, results.rows.length);
  }

  get texts(): Column[] {
    return this.columns.filter((column) => !column.isNumeric && column.at !== this.timeAt);
  }
  get numbers(): Column[] {
    return this.columns.filter((column) => column.isNumeric);
  }
  named(...names: string[]): Column | undefined {
    return this.columns.find(({ name }) => names.includes(name.toLowerCase()));
  }
  text(row: number, column: Column | undefined): string {
    return column
      ? cellText(this.results.rows[row]?.[column.at] ?? null).replaceAll('\n', ', ')
      : '';
  }
  number(row: number, column: Column | undefined): number | null {
    return column ? cellNumber(this.results.rows[row]?.[column.at] ?? null) : null;
  }
  time(row: number): number | null {
    const column = this.columns.find(({ at }) => at === this.timeAt);
    return column ? isoTime(this.text(row, column)) : null;
  }
  get rows(): number[] {
    return Array.from({ length: this.count }, (_, row) => row);
  }
  get cut(): string | null {
    const all = this.results.rows.length;
    return all > this.count ? `The first ${grouped(this.count)} of ${grouped(all)} rows.` : null;
  }
}

export function customModel(kind: CustomKind, results: ResultRows): Made {
  const read = new Reading(results);
  switch (kind) {
    case 'sankey':
    case 'network':
      return links(read, kind === 'sankey');
    case 'treemap':
    case 'sunburst':
      return tree(read);
    case 'punchcard':
    case 'heatmap':
      return grid(read, kind);
    case 'calendar':
      return calendar(read);
    case 'timeline':
      return timeline(read);
    case 'parallel':
      return parallel(read);
    default:
      return value(read);
  }
}

const needs = (what: string): Made => ({ model: null, note: `It needs ${what}.` });

/** Two columns of names, and one of numbers; a column `source`, `target` or `value` counts first. */
function links(read: Reading, isFlow: boolean): Made {
  const first = read.named('source', 'from') ?? read.columns[0];
  const second = read.named('target', 'to') ?? read.columns.find((one) => one !== first);
  const size =
    read.named('value', 'count') ?? read.numbers.find((one) => one !== first && one !== second);
  if (!first || !second) return needs('two columns of names');
  const sums = new Map<string, Link>();
  for (const row of read.rows) {
    const [source, target] = [read.text(row, first), read.text(row, second)];
    if (source === '' || target === '') continue;
    const key = JSON.stringify([source, target]);
    const known = sums.get(key);
    const amount = size ? (read.number(row, size) ?? 0) : 1;
    if (known) known.value += amount;
    else sums.set(key, { source, target, value: amount, row });
  }
  const all = [...sums.values()].sort((a, b) => b.value - a.value);
  const found = all.slice(0, MOST_LINKS);
  const drawn = isFlow ? withoutCycles(found) : found;
  const left = all.length - drawn.length;
  const names = [...new Set(drawn.flatMap(({ source, target }) => [source, target]))];
  const note =
    left > 0
      ? `${left} of ${all.length} links omitted${isFlow ? ': they lead backwards or are too many' : ''}.`
      : null;
  return { model: { kind: 'links', links: drawn, names, left }, note: read.cut ?? note };
}

/** A flow has a direction: of links that close a ring, the largest stay. */
function withoutCycles(links: readonly Link[]): Link[] {
  const next = new Map<string, string[]>();
  const reaches = (from: string, to: string): boolean => {
    const seen = new Set([from]);
    const waiting = [from];
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      if (at === to) return true;
      for (const one of next.get(at) ?? []) {
        if (!seen.has(one)) {
          seen.add(one);
          waiting.push(one);
        }
      }
    }
    return false;
  };
  return links.filter(({ source, target, value: size }) => {
    if (size <= 0 || reaches(target, source)) return false;
    next.set(source, [...(next.get(source) ?? []), target]);
    return true;
  });
}

/** Columns of names from the whole to the parts, and one of numbers. */
function tree(read: Reading): Made {
  const size = read.numbers.at(-1);
  const levels = read.columns.filter((one) => one !== size && one.name !== '_time').slice(0, 6);
  if (levels.length === 0) return needs('columns of names and one of numbers');
  const root: Branch = { name: '', value: 0, row: 0, children: [] };
  for (const row of read.rows) {
    const amount = size ? (read.number(row, size) ?? 0) : 1;
    if (amount <= 0) continue;
    let at = root;
    for (const level of levels) {
      const name = read.text(row, level);
      if (name === '') break;
      let child = at.children.find((one) => one.name === name);
      if (!child) {
        child = { name, value: 0, row, children: [] };
        at.children.push(child);
      }
      child.value += amount;
      at = child;
    }
  }
  const valueName = size?.name ?? 'rows';
  return { model: { kind: 'tree', branches: root.children, valueName }, note: read.cut };
}

const byNumberOrText = (a: string, b: string): number => {
  const [x, y] = [cellNumber(a), cellNumber(b)];
  return x !== null && y !== null ? x - y : a.localeCompare(b);
};
const DAYS = ['monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday', 'sunday'];

/** In the order of numbers or of the week; other names as they come. */
function ordered(names: string[]): string[] {
  const all = [...new Set(names)];
  const dayOf = (name: string) =>
    DAYS.findIndex((day) => name.length >= 3 && day.startsWith(name.toLowerCase()));
  if (all.every((name) => dayOf(name) !== -1)) return all.sort((a, b) => dayOf(a) - dayOf(b));
  return all.every((name) => cellNumber(name) !== null) ? all.sort(byNumberOrText) : all;
}

/** Two columns and one of numbers; of a heat map also a column of names beside several of numbers. */
function grid(read: Reading, kind: CustomKind): Made {
  const [first, second, third] = read.columns;
  const isMatrix =
    kind === 'heatmap' &&
    read.columns.length > 2 &&
    read.columns.slice(1).every((one) => one.isNumeric) &&
    !(read.columns.length === 3 && first && !first.isNumeric && isRepeated(read, first));
  if (!first || !second) return needs('two columns of categories and one of numbers');
  if (isMatrix) {
    const ys = read.rows.map((row) => read.text(row, first));
    const xs = read.columns.slice(1);
    const cells = read.rows.flatMap((row) =>
      xs.flatMap((column, x) => {
        const amount = read.number(row, column);
        return amount === null ? [] : [{ x, y: row, value: amount, row }];
      }),
    );
    const names: [string, string, string] = ['', first.name, ''];
    return {
      model: { kind: 'grid', xs: xs.map(({ name }) => name), ys, cells, names },
      note: read.cut,
    };
  }
  const size = third ?? undefined;
  if (!size?.isNumeric) return needs('two columns of categories and one of numbers');
  const xs = ordered(read.rows.map((row) => read.text(row, first)));
  const ys = ordered(read.rows.map((row) => read.text(row, second)));
  const [xAt, yAt] = [xs, ys].map((names) => new Map(names.map((name, at) => [name, at])));
  const cells = read.rows.flatMap((row) => {
    const amount = read.number(row, size);
    const x = xAt?.get(read.text(row, first));
    const y = yAt?.get(read.text(row, second));
    return amount === null || x === undefined || y === undefined
      ? []
      : [{ x, y, value: amount, row }];
  });
  const names: [string, string, string] = [first.name, second.name, size.name];
  return { model: { kind: 'grid', xs, ys, cells, names }, note: read.cut };
}

const isRepeated = (read: Reading, column: Column): boolean =>
  new Set(read.rows.map((row) => read.text(row, column))).size < read.count;

/** `timechart span=1d`: a time and a number. */
function calendar(read: Reading): Made {
  const size = read.numbers.find(({ name }) => name !== '_time');
  if (!size || read.rows.every((row) => read.time(row) === null)) {
    return needs('_time and a column of numbers, as returned by timechart span=1d');
  }
  const days = new Map<string, { day: string; value: number; row: number }>();
  const timeAt = read.results.fields.indexOf('_time');
  for (const row of read.rows) {
    // The day in the zone that the server has written.
    const day = cellText(read.results.rows[row]?.[timeAt] ?? null).slice(0, 10);
    const amount = read.number(row, size);
    if (amount === null || !/^\d{4}-\d\d-\d\d$/.test(day)) continue;
    const known = days.get(day);
    if (known) known.value += amount;
    else days.set(day, { day, value: amount, row });
  }
  if (days.size === 0) return needs('times as dates');
  return {
    model: { kind: 'calendar', days: [...days.values()], valueName: size.name },
    note: read.cut,
  };
}

/** A time, what it is about, what colours it, and how long it takes in milliseconds. */
function timeline(read: Reading): Made {
  const others = read.columns.filter(({ name }) => name !== '_time');
  const duration = read.named('duration');
  const end = read.named('end', 'end_time', 'endtime');
  const [lane, group] = others.filter((one) => one !== duration && one !== end);
  if (!lane || read.rows.every((row) => read.time(row) === null)) {
    return needs('_time and a column with the states');
  }
  const color = group?.isNumeric ? undefined : group;
  const lanes = [...new Set(read.rows.map((row) => read.text(row, lane)))];
  const laneAt = new Map(lanes.map((name, at) => [name, at]));
  const groups = [...new Set(read.rows.map((row) => read.text(row, color)))];
  const items = read.rows.flatMap((row): TimelineItem[] => {
    const start = read.time(row);
    if (start === null) return [];
    const until = end ? (parseTime(read.text(row, end)) ?? read.number(row, end)) : null;
    const length = (read.number(row, duration) ?? 0) / 1000;
    return [
      {
        lane: laneAt.get(read.text(row, lane)) ?? 0,
        start,
        end: Math.max(start, until ?? start + length),
        group: read.text(row, color),
        row,
      },
    ];
  });
  return { model: { kind: 'timeline', lanes, groups, items }, note: read.cut };
}

/** The first row: its first number, or its first cell. */
function value(read: Reading): Made {
  const column = read.numbers.find(({ name }) => name !== '_time') ?? read.columns[0];
  if (!column || read.count === 0) return needs('a value');
  const cells = new Map(read.columns.map((one) => [one.name.toLowerCase(), read.text(0, one)]));
  const model: CustomModel = {
    kind: 'value',
    value: read.number(0, column),
    text: read.text(0, column),
    name: column.name,
    cells,
  };
  return { model, note: null };
}

/** Every column is an axis, every row a line. */
function parallel(read: Reading): Made {
  const columns = read.columns.slice(0, 20);
  if (columns.length < 2) return needs('at least two columns');
  const axes = columns.map((column) => ({
    name: column.name,
    values: column.isNumeric
      ? null
      : [...new Set(read.rows.map((row) => read.text(row, column)))].slice(0, 200),
  }));
  const places = axes.map((axis) => new Map(axis.values?.map((name, at) => [name, at])));
  const lines = read.rows
    .slice(0, 1_000)
    .map((row) =>
      columns.map((column, at) =>
        column.isNumeric
          ? (read.number(row, column) ?? Number.NaN)
          : (places[at]?.get(read.text(row, column)) ?? Number.NaN),
      ),
    );
  const cut = read.results.rows.length;
  const note = cut > lines.length ? `The first ${lines.length} of ${cut} rows.` : null;
  return { model: { kind: 'parallel', axes, lines }, note };
}

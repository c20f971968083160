/** The functions of `eval` that dashboards use, over single values. */

import { toNumber, toText, truth, type Value } from './expression';
import { relativeTime, strftime, strptime } from './times';

type Compute = (...values: Value[]) => Value;

export const list = (value: Value | undefined): string[] =>
  Array.isArray(value) ? value : value === null || value === undefined ? [] : [toText(value)];
export const many = (values: string[]): Value =>
  values.length === 0 ? null : values.length === 1 ? (values[0] ?? null) : values;
const text = (value: Value | undefined): string => toText(value ?? null);
const number = (value: Value | undefined): number | null => toNumber(value ?? null);

function numeric(compute: (value: number) => number): Compute {
  return (value) => {
    const known = number(value);
    return known === null ? null : compute(known);
  };
}

const texts =
  (compute: (value: string) => string): Compute =>
  (value) =>
    value === null || value === undefined ? null : compute(text(value));

/** Patterns longer than this, or texts, are not matched: a pattern of an app must not stop the page. */
const MOST = 10_000;

function pattern(source: Value | undefined, flags = ''): RegExp | null {
  const written = text(source)
    .replace(/\(\?<(\w+)>/g, '(?<$1>')
    .replace(/^\(\?i\)/, '');
  if (written.length > MOST) return null;
  try {
    return new RegExp(written, flags + (text(source).startsWith('(?i)') ? 'i' : ''));
  } catch {
    return null;
  }
}

function trimmed(value: Value | undefined, characters: Value | undefined, sides: string): Value {
  if (value === null || value === undefined) return null;
  const set = text(characters ?? ' \t\n\r').replace(/[\]\\^-]/g, '\\$&');
  let result = text(value);
  if (sides !== 'right') result = result.replace(new RegExp(`^[${set}]+`), '');
  return sides === 'left' ? result : result.replace(new RegExp(`[${set}]+$`), '');
}

function best(values: Value[], better: (a: number, b: number) => boolean): Value {
  const numbers = values.map(toNumber).filter((value): value is number => value !== null);
  return numbers.length === 0 ? null : numbers.reduce((a, b) => (better(b, a) ? b : a));
}

function rounded(value: number, digits: number): string | number {
  const factor = 10 ** digits;
  const result = Math.sign(value) * (Math.round(Math.abs(value) * factor) / factor);
  return digits > 0 ? result.toFixed(digits) : result;
}

function duration(seconds: number): string {
  const whole = Math.floor(Math.abs(seconds));
  const pad = (part: number) => String(part).padStart(2, '0');
  const clock = `${pad(Math.floor(whole / 3600) % 24)}:${pad(Math.floor(whole / 60) % 60)}:${pad(whole % 60)}`;
  const days = Math.floor(whole / 86_400);
  return (seconds < 0 ? '-' : '') + (days > 0 ? `${days}+${clock}` : clock);
}

function shownText(value: Value | undefined, format: Value | undefined): Value {
  if (value === null || value === undefined) return null;
  const known = number(value);
  if (typeof value === 'boolean') return value ? 'True' : 'False';
  if (known === null || format === undefined) return text(value);
  switch (text(format).toLowerCase()) {
    case 'commas':
      return new Intl.NumberFormat('en-US', { maximumFractionDigits: 2 }).format(known);
    case 'hex':
      return `0x${Math.floor(known).toString(16).toUpperCase()}`;
    case 'duration':
      return duration(known);
    default:
      return text(value);
  }
}

export const FUNCTIONS: Readonly<Record<string, Compute>> = {
  abs: numeric(Math.abs),
  ceil: numeric(Math.ceil),
  ceiling: numeric(Math.ceil),
  floor: numeric(Math.floor),
  exp: numeric(Math.exp),
  ln: numeric(Math.log),
  sqrt: numeric(Math.sqrt),
  log: (value, base) => {
    const [of, to] = [number(value), number(base ?? 10)];
    return of === null || to === null ? null : Math.log(of) / Math.log(to);
  },
  pow: (base, exponent) => {
    const [of, to] = [number(base), number(exponent)];
    return of === null || to === null ? null : of ** to;
  },
  pi: () => Math.PI,
  random: () => Math.floor(Math.random() * 2_147_483_648),
  round: (value, digits) => {
    const known = number(value);
    return known === null ? null : rounded(known, Math.max(0, number(digits ?? 0) ?? 0));
  },
  max: (...values) => best(values, (a, b) => a > b),
  min: (...values) => best(values, (a, b) => a < b),
  tonumber: (value, base) => {
    const radix = number(base ?? 10) ?? 10;
    if (radix === 10) return number(value);
    const parsed = Number.parseInt(text(value), radix);
    return Number.isNaN(parsed) ? null : parsed;
  },
  tostring: (value, format) => shownText(value, format),
  len: (value) => (value === null || value === undefined ? null : text(value).length),
  lower: texts((value) => value.toLowerCase()),
  upper: texts((value) => value.toUpperCase()),
  trim: (value, characters) => trimmed(value, characters, 'both'),
  ltrim: (value, characters) => trimmed(value, characters, 'left'),
  rtrim: (value, characters) => trimmed(value, characters, 'right'),
  substr: (value, from, length) => {
    if (value === null || value === undefined) return null;
    const start = number(from) ?? 1;
    const all = text(value);
    const begin = start < 0 ? Math.max(0, all.length + start) : Math.max(0, start - 1);
    const count = length === undefined ? undefined : (number(length) ?? 0);
    return all.slice(begin, count === undefined ? undefined : begin + count);
  },
  replace: (value, what, by) => {
    const found = pattern(what, 'g');
    if (!found || value === null || value === undefined) return null;
    const target = text(by)
      .replace(/\$/g, '$$$$')
      .replace(/\\(\d)/g, '$$$1');
    return text(value).slice(0, MOST).replace(found, target);
  },
  match: (value, what) =>
    value === null || value === undefined
      ? null
      : (pattern(what)?.test(text(value).slice(0, MOST)) ?? null),
  like: (value, what) => {
    if (value === null || value === undefined) return null;
    const escaped = text(what).replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
    return new RegExp(`^${escaped.replaceAll('%', '[\\s\\S]*').replaceAll('_', '[\\s\\S]')}$`).test(
      text(value).slice(0, MOST),
    );
  },
  urlencode: texts(encodeURIComponent),
  urldecode: texts((value) => {
    try {
      return decodeURIComponent(value.replaceAll('+', ' '));
    } catch {
      return value;
    }
  }),
  split: (value, by) =>
    value === null || value === undefined ? null : many(text(value).split(text(by))),
  mvindex: (value, from, to) => {
    const all = list(value);
    const place = (at: Value | undefined) => {
      const known = number(at) ?? 0;
      return known < 0 ? all.length + known : known;
    };
    const start = place(from);
    return many(all.slice(Math.max(0, start), (to === undefined ? start : place(to)) + 1));
  },
  mvcount: (value) => list(value).length || null,
  mvjoin: (value, by) => (list(value).length > 0 ? list(value).join(text(by)) : null),
  mvappend: (...values) => many(values.flatMap(list)),
  mvdedup: (value) => many([...new Set(list(value))]),
  mvsort: (value) => many([...list(value)].sort()),
  mvfind: (value, what) => {
    const found = pattern(what);
    const at = found ? list(value).findIndex((one) => found.test(one)) : -1;
    return at === -1 ? null : at;
  },
  coalesce: (...values) => values.find((value) => value !== null && value !== undefined) ?? null,
  nullif: (a, b) =>
    a !== null && b !== null && toText(a ?? null) === toText(b ?? null) ? null : (a ?? null),
  isnull: (value) => value === null || value === undefined,
  isnotnull: (value) => value !== null && value !== undefined,
  isnum: (value) => number(value) !== null,
  isint: (value) => Number.isInteger(number(value) ?? Number.NaN),
  isstr: (value) => typeof value === 'string' && number(value) === null,
  isbool: (value) => typeof value === 'boolean',
  typeof: (value) =>
    value === null || value === undefined
      ? 'Invalid'
      : number(value) !== null
        ? 'Number'
        : typeof value === 'boolean'
          ? 'Boolean'
          : 'String',
  null: () => null,
  true: () => true,
  false: () => false,
  not: (value) => !truth(value ?? null),
  now: () => Math.floor(Date.now() / 1000),
  time: () => Date.now() / 1000,
  relative_time: (from, modifier) => {
    const known = number(from);
    return known === null ? null : relativeTime(known, text(modifier));
  },
  strftime: (value, format) => {
    const known = number(value);
    return known === null ? null : strftime(known, text(format));
  },
  strptime: (value, format) =>
    value === null || value === undefined ? null : strptime(text(value), text(format)),
};

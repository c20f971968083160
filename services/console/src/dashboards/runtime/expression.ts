/**
 * Expressions of `<eval>`, `match=` and colour palettes: the grammar of `eval` and the functions that dashboards
 * use. Tokens outside of quotes are values, inside of quotes they are text.
 * Throws `ExpressionError` for what it cannot compute.
 */

import { FUNCTIONS, list, many } from './functions';
import { type Lookup, substitute } from './tokens';

export type Value = string | number | boolean | null | string[];

export class ExpressionError extends Error {}

/** The values of a field that has several; undefined for others. */
export type Lists = (name: string) => string[] | undefined;

type Token =
  | { kind: 'number'; value: number }
  | { kind: 'text'; value: string }
  | { kind: 'field'; name: string }
  | { kind: 'token'; name: string; filter: string }
  | { kind: 'word'; name: string }
  | { kind: 'operator'; text: string };

const SPACE = /\s+/y;
const NUMBER = /\d+(?:\.\d+)?(?:e[-+]?\d+)?/iy;
const TEXT = /"((?:[^"\\]|\\.)*)"/y;
const FIELD = /'([^']*)'/y;
const TOKEN = /\$([^$|]+?)(?:\|([a-z]))?\$/y;
const WORD = /[A-Za-z_][\w:]*(?:\.[A-Za-z_]\w*)*/y;
const OPERATOR = /==|!=|<=|>=|&&|\|\||[-+*/%.<>=!(),]/y;

const READERS: readonly [RegExp, (match: RegExpExecArray) => Token][] = [
  [NUMBER, (match) => ({ kind: 'number', value: Number(match[0]) })],
  [TEXT, (match) => ({ kind: 'text', value: unescaped(match[1] ?? '') })],
  [FIELD, (match) => ({ kind: 'field', name: match[1] ?? '' })],
  [TOKEN, (match) => ({ kind: 'token', name: match[1] ?? '', filter: match[2] ?? '' })],
  [WORD, (match) => ({ kind: 'word', name: match[0] })],
  [OPERATOR, (match) => ({ kind: 'operator', text: match[0] })],
];

function tokens(text: string): Token[] {
  const found: Token[] = [];
  let at = 0;
  const take = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match) at = pattern.lastIndex;
    return match;
  };
  while (at < text.length) {
    if (take(SPACE)) continue;
    const token = READERS.reduce<Token | null>((known, [pattern, make]) => {
      const match = known === null ? take(pattern) : null;
      return match ? make(match) : known;
    }, null);
    if (token === null)
      throw new ExpressionError(`unexpected ${text.slice(at, at + 10)} in ${text}`);
    found.push(token);
  }
  return found;
}

/** `\"` and `\\`; other backslashes stay: they belong to regular expressions. */
const unescaped = (text: string) => text.replace(/\\(["\\])/g, '$1');

type Node = () => Value;

const BINDING: Record<string, number> = {
  or: 1,
  '||': 1,
  xor: 1,
  and: 2,
  '&&': 2,
  '=': 4,
  '==': 4,
  '!=': 4,
  '<': 4,
  '>': 4,
  '<=': 4,
  '>=': 4,
  like: 4,
  in: 4,
  '+': 5,
  '-': 5,
  '.': 5,
  '*': 6,
  '/': 6,
  '%': 6,
};
const UNARY_MINUS = 7;
const NOT = 3;

class Parser {
  readonly #tokens: Token[];
  readonly #lookup: Lookup;
  readonly #lists: Lists;
  /** Fields while `mvfilter` looks at one of their values. */
  readonly #single = new Map<string, string>();
  /** Names of fields in the order of the text. */
  #names: string[] = [];
  #at = 0;
  #depth = 0;

  constructor(text: string, lookup: Lookup, lists: Lists) {
    this.#tokens = tokens(text);
    this.#lookup = lookup;
    this.#lists = lists;
  }

  whole(): Node {
    const node = this.#expression(0);
    if (this.#at < this.#tokens.length) throw new ExpressionError('unexpected text at the end');
    return node;
  }

  #operator(): string | null {
    const token = this.#tokens[this.#at];
    if (token?.kind === 'operator') return token.text;
    return token?.kind === 'word' ? token.name.toLowerCase() : null;
  }

  #takes(text: string): boolean {
    if (this.#operator() !== text) return false;
    this.#at += 1;
    return true;
  }

  #expects(text: string): void {
    if (!this.#takes(text)) throw new ExpressionError(`expected ${text}`);
  }

  #expression(least: number): Node {
    if (++this.#depth > 100) throw new ExpressionError('too deep');
    let left = this.#operand();
    for (;;) {
      const operator = this.#operator();
      const binding = operator === null ? undefined : BINDING[operator];
      if (operator === null || binding === undefined || binding < least) break;
      this.#at += 1;
      if (operator === 'in') {
        this.#expects('(');
        const choices = this.#list();
        const value = left;
        left = () => choices.some((choice) => equal(value(), choice()));
        continue;
      }
      left = binary(operator, left, this.#expression(binding + 1));
    }
    this.#depth -= 1;
    return left;
  }

  #operand(): Node {
    if (this.#takes('(')) {
      const inner = this.#expression(0);
      this.#expects(')');
      return inner;
    }
    if (this.#takes('-')) {
      const value = this.#expression(UNARY_MINUS);
      return () => {
        const number = toNumber(value());
        return number === null ? null : -number;
      };
    }
    if (this.#takes('+')) return this.#expression(UNARY_MINUS);
    if (this.#takes('not') || this.#takes('!')) {
      const value = this.#expression(NOT);
      return () => !truth(value());
    }
    const token = this.#tokens[this.#at];
    this.#at += 1;
    switch (token?.kind) {
      case 'number':
        return () => token.value;
      case 'text': {
        const { text } = substitute(token.value, this.#lookup);
        return () => text;
      }
      case 'field':
        return this.#field(token.name.replace(/^\$|\$$/g, ''));
      case 'token':
        return this.#field(token.name);
      case 'word':
        return this.#word(token.name);
      default:
        throw new ExpressionError('a value is missing');
    }
  }

  #field(name: string): Node {
    this.#names.push(name);
    return () =>
      this.#single.get(name) ?? many(this.#lists(name) ?? []) ?? this.#lookup(name) ?? null;
  }

  /** `mvfilter(condition)`: the values of the field in the condition for which it holds. */
  #filter(condition: Node, name: string): Node {
    const field = this.#field(name);
    return () =>
      many(
        list(field()).filter((value) => {
          this.#single.set(name, value);
          try {
            return truth(condition());
          } finally {
            this.#single.delete(name);
          }
        }),
      );
  }

  #word(name: string): Node {
    if (!this.#takes('(')) {
      const literal = { true: true, false: false, null: null }[name.toLowerCase()];
      return literal !== undefined ? () => literal : this.#field(name);
    }
    const before = this.#names.length;
    const parts = this.#list();
    const known = name.toLowerCase();
    if (known === 'mvfilter') {
      const [condition] = parts;
      const field = this.#names[before];
      if (!condition || parts.length > 1 || field === undefined)
        throw new ExpressionError('mvfilter takes one condition over a field');
      return this.#filter(condition, field);
    }
    if (known === 'if') {
      const [condition, yes, no] = parts;
      if (!condition || !yes || !no) throw new ExpressionError('if takes three arguments');
      return () => (truth(condition()) ? yes() : no());
    }
    if (known === 'case' || known === 'validate') {
      return () => {
        for (let at = 0; at + 1 < parts.length; at += 2) {
          if (truth(parts[at]?.() ?? null) === (known === 'case')) return parts[at + 1]?.() ?? null;
        }
        return null;
      };
    }
    const compute = Object.hasOwn(FUNCTIONS, known) ? FUNCTIONS[known] : undefined;
    // Only where it is computed: it may be in a branch that is not taken.
    if (!compute)
      return () => {
        throw new ExpressionError(`the function ${name} is not known in the console`);
      };
    return () => compute(...parts.map((part) => part()));
  }

  #list(): Node[] {
    const parts: Node[] = [];
    if (this.#takes(')')) return parts;
    do parts.push(this.#expression(0));
    while (this.#takes(','));
    this.#expects(')');
    return parts;
  }
}

export function toNumber(value: Value): number | null {
  if (typeof value === 'number') return value;
  if (typeof value === 'boolean') return Number(value);
  if (typeof value !== 'string' || value.trim() === '') return null;
  const number = Number(value);
  return Number.isFinite(number) ? number : null;
}

export function toText(value: Value): string {
  if (value === null) return '';
  if (Array.isArray(value)) return value.join(',');
  if (typeof value === 'number') return String(Number(value.toPrecision(15)));
  return String(value);
}

export function truth(value: Value): boolean {
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number') return value !== 0;
  return value === 'true' || value === '1';
}

function equal(a: Value, b: Value): boolean {
  const [left, right] = [toNumber(a), toNumber(b)];
  if (left !== null && right !== null) return left === right;
  return a !== null && b !== null && toText(a) === toText(b);
}

function compare(a: Value, b: Value): number | null {
  if (a === null || b === null) return null;
  const [left, right] = [toNumber(a), toNumber(b)];
  if (left !== null && right !== null) return left - right;
  const [one, other] = [toText(a), toText(b)];
  return one < other ? -1 : Number(one > other);
}

function binary(operator: string, a: Node, b: Node): Node {
  const ordered = (holds: (order: number) => boolean) => () => {
    const order = compare(a(), b());
    return order !== null && holds(order);
  };
  const arithmetic = (compute: (left: number, right: number) => number) => () => {
    const [left, right] = [toNumber(a()), toNumber(b())];
    if (left === null || right === null) return null;
    const result = compute(left, right);
    return Number.isFinite(result) ? result : null;
  };
  switch (operator) {
    case 'or':
    case '||':
      return () => truth(a()) || truth(b());
    case 'xor':
      return () => truth(a()) !== truth(b());
    case 'and':
    case '&&':
      return () => truth(a()) && truth(b());
    case '=':
    case '==':
      return () => equal(a(), b());
    case '!=':
      return () => {
        const [left, right] = [a(), b()];
        return left !== null && right !== null && !equal(left, right);
      };
    case '<':
      return ordered((order) => order < 0);
    case '>':
      return ordered((order) => order > 0);
    case '<=':
      return ordered((order) => order <= 0);
    case '>=':
      return ordered((order) => order >= 0);
    case 'like':
      return () => FUNCTIONS.like?.(a(), b()) ?? null;
    case '.':
      return () => toText(a()) + toText(b());
    case '+':
      return () => {
        const [left, right] = [a(), b()];
        const numbers = [toNumber(left), toNumber(right)];
        if (numbers[0] !== null && numbers[1] !== null)
          return (numbers[0] ?? 0) + (numbers[1] ?? 0);
        // Two texts are joined.
        return typeof left === 'string' && typeof right === 'string' ? left + right : null;
      };
    case '-':
      return arithmetic((left, right) => left - right);
    case '*':
      return arithmetic((left, right) => left * right);
    case '/':
      return arithmetic((left, right) => left / right);
    default:
      return arithmetic((left, right) => left % right);
  }
}

export function evaluate(text: string, lookup: Lookup, lists: Lists = () => undefined): Value {
  return new Parser(text, lookup, lists).whole()();
}

/** Whether a condition holds; one that cannot be computed does not. */
export function holds(text: string, lookup: Lookup, lists?: Lists): boolean {
  try {
    return truth(evaluate(text, lookup, lists));
  } catch {
    return false;
  }
}

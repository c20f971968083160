/**
 * Tokens: what `$name$` stands for. Two sets, as in Splunk: *default* is what inputs show, *submitted* what
 * searches and titles use. Pure, apart from the store's listeners.
 */

/** `$a$`, `$a.b$`, `$row.Some Field$`, `$env:user$`, each with a filter such as `|s`; and `$$`. */
const TOKEN = /\$\$|\$((?:[\w@][\w@.:{}()/#%* -]{0,98})?[\w@})*%])(?:\|([a-z]))?\$/g;

export type Values = ReadonlyMap<string, string>;
export type Lookup = (name: string) => string | undefined;

/** Names of tokens in a text. */
export function tokensIn(text: string): string[] {
  const names = new Set<string>();
  for (const found of text.matchAll(TOKEN)) if (found[1]) names.add(found[1]);
  return [...names];
}

/** `|s`: in quotes for SPL; `|h` for HTML, `|u` for addresses; `|n`: as it is. */
export function filtered(value: string, filter: string): string {
  switch (filter) {
    case 's':
      return `"${value.replace(/\\/g, '\\\\').replace(/"/g, '\\"')}"`;
    case 'h':
      return escapeHtml(value);
    case 'u':
      return encodeURIComponent(value);
    default:
      return value;
  }
}

export function escapeHtml(text: string): string {
  return text
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

export interface Substituted {
  text: string;
  /** Tokens that are not defined; they stand in the text as written. */
  missing: string[];
}

/** Replaces tokens. `otherwise` is the filter of those that name none. */
export function substitute(text: string, lookup: Lookup, otherwise = 'n'): Substituted {
  const missing = new Set<string>();
  const replaced = text.replace(TOKEN, (written, name?: string, filter?: string) => {
    if (name === undefined) return '$';
    const value = lookup(name);
    if (value === undefined) {
      missing.add(name);
      return written;
    }
    return filtered(value, filter ?? otherwise);
  });
  return { text: replaced, missing: [...missing] };
}

/** A name without a value: all tokens there are, for handlers that look at one set. */
export class TokenStore {
  #default = new Map<string, string>();
  #submitted = new Map<string, string>();
  readonly #environment: Values;
  readonly #listeners = new Set<() => void>();
  #version = 0;
  #depth = 0;
  #changed = false;

  constructor(environment: Values = new Map()) {
    this.#environment = environment;
  }

  /** Changes with every change, for `useSyncExternalStore`. */
  get version(): number {
    return this.#version;
  }

  subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  };

  readonly default: Lookup = (name) => this.#default.get(name) ?? this.#environment.get(name);
  readonly submitted: Lookup = (name) => this.#submitted.get(name) ?? this.#environment.get(name);

  /** Sets a token, or removes it. `everywhere`: in what searches use, too. */
  set(name: string, value: string | undefined, everywhere: boolean): void {
    if (name === '') return;
    for (const tokens of everywhere ? [this.#default, this.#submitted] : [this.#default]) {
      if (tokens.get(name) === value && (value !== undefined || !tokens.has(name))) continue;
      if (value === undefined) tokens.delete(name);
      else tokens.set(name, value);
      this.#changed = true;
    }
    this.#tell();
  }

  /** What inputs show becomes what searches use. */
  submit(): void {
    this.#changed = true;
    this.#submitted = new Map(this.#default);
    this.#tell();
  }

  /** Whether a submit would change anything. */
  get isPending(): boolean {
    if (this.#default.size !== this.#submitted.size) return true;
    for (const [name, value] of this.#default) if (this.#submitted.get(name) !== value) return true;
    return false;
  }

  /** Listeners hear of the changes of a function once. */
  batch(change: () => void): void {
    this.#depth += 1;
    try {
      change();
    } finally {
      this.#depth -= 1;
      this.#tell();
    }
  }

  #tell(): void {
    if (this.#depth > 0 || !this.#changed) return;
    this.#changed = false;
    this.#version += 1;
    for (const listener of [...this.#listeners]) listener();
  }

  entries(): Values {
    return this.#submitted;
  }
}

/** Whether something with `depends` and `rejects` is shown: only whether tokens are defined counts. */
export function isShown(depends: string[], rejects: string[], lookup: Lookup): boolean {
  return (
    depends.every((name) => lookup(name) !== undefined) &&
    rejects.every((name) => lookup(name) === undefined)
  );
}

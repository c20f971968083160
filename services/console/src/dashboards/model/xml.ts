/**
 * A small reader of XML that keeps where everything stands, for mistakes in place and for HTML panels, which are
 * handed on as they are written. The browser's DOMParser has no places and ends at the first bare `&`.
 * Guarantees that nothing is expanded or fetched: entities are the five of XML and numbers, a DOCTYPE is skipped,
 * depth and number of elements have limits. `crates/apps/src/simple_xml.rs` accepts the same texts.
 */

export interface XmlElement {
  kind: 'element';
  /** In lower case, without a prefix: Simple XML is written in any case. */
  name: string;
  /** As written. */
  written: string;
  /** Names in lower case. */
  attributes: ReadonlyMap<string, string>;
  children: XmlNode[];
  /** Places in the source: of the element, and of what is between its tags. */
  start: number;
  end: number;
  innerStart: number;
  innerEnd: number;
  /** From 1. */
  line: number;
}

export interface XmlText {
  kind: 'text';
  text: string;
}

export type XmlNode = XmlElement | XmlText;

export class XmlError extends Error {
  readonly line: number;

  constructor(line: number, text: string) {
    super(text);
    this.name = 'XmlError';
    this.line = line;
  }
}

const MAX_DEPTH = 200;
const MAX_ELEMENTS = 200_000;
const NAME = /[^\s=<>/"']+/y;
const ENTITIES: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" };

/** Text with its references replaced; an `&` that begins none stays, an unknown reference is dropped. */
function decoded(text: string): string {
  return text.replace(/&(#x[0-9a-f]+|#\d+|[a-z0-9]+);/gi, (_, name: string) => {
    if (name === 'nbsp') return '\u00a0';
    if (!name.startsWith('#')) return ENTITIES[name.toLowerCase()] ?? '';
    const code = /^#x/i.test(name) ? Number.parseInt(name.slice(2), 16) : Number(name.slice(1));
    return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '';
  });
}

class Parser {
  readonly #source: string;
  #at = 0;
  #line = 1;
  #counted = 0;
  #elements = 0;

  constructor(source: string) {
    this.#source = source;
  }

  parse(): XmlElement {
    const open: XmlElement[] = [];
    let root: XmlElement | null = null;
    while (this.#at < this.#source.length) {
      const next = this.#source.indexOf('<', this.#at);
      const textEnd = next === -1 ? this.#source.length : next;
      const parent = open.at(-1);
      if (textEnd > this.#at && parent) {
        parent.children.push({
          kind: 'text',
          text: decoded(this.#source.slice(this.#at, textEnd)),
        });
      }
      this.#at = textEnd;
      if (next === -1) break;
      if (this.#skips('<!--', '-->', 'a comment') || this.#skips('<?', '?>', 'an instruction'))
        continue;
      if (this.#source.startsWith('<![CDATA[', this.#at)) {
        const from = this.#at + 9;
        this.#skips('<![CDATA[', ']]>', 'a CDATA section');
        parent?.children.push({ kind: 'text', text: this.#source.slice(from, this.#at - 3) });
        continue;
      }
      if (this.#source.startsWith('<!', this.#at)) {
        this.#doctype();
        continue;
      }
      if (this.#source.startsWith('</', this.#at)) {
        this.#close(open);
        continue;
      }
      if (root && open.length === 0) throw this.#error('a second root element');
      const { element, isEmpty } = this.#start();
      if (parent) parent.children.push(element);
      else root = element;
      if (!isEmpty) open.push(element);
      if (open.length > MAX_DEPTH || ++this.#elements > MAX_ELEMENTS) {
        throw this.#error(
          `more than ${MAX_DEPTH} elements inside each other, or ${MAX_ELEMENTS} in all`,
        );
      }
    }
    const left = open.at(-1);
    if (left) throw new XmlError(left.line, `<${left.written}> is not closed`);
    if (!root) throw new XmlError(1, 'there is no root element');
    return root;
  }

  #skips(begin: string, end: string, what: string): boolean {
    if (!this.#source.startsWith(begin, this.#at)) return false;
    const found = this.#source.indexOf(end, this.#at + begin.length);
    if (found === -1) throw this.#error(`${what} is not closed`);
    this.#at = found + end.length;
    return true;
  }

  #doctype(): void {
    let depth = 0;
    for (let at = this.#at; at < this.#source.length; at += 1) {
      const char = this.#source[at];
      if (char === '<') depth += 1;
      else if (char === '>') depth -= 1;
      if (depth === 0) {
        this.#at = at + 1;
        return;
      }
    }
    throw this.#error('a DOCTYPE is not closed');
  }

  #close(open: XmlElement[]): void {
    const end = this.#source.indexOf('>', this.#at);
    if (end === -1) throw this.#error('an end tag is not closed');
    const written = this.#source.slice(this.#at + 2, end).trim();
    const element = open.pop();
    if (!element) throw this.#error(`</${written}> closes nothing`);
    if (element.written !== written) {
      throw this.#error(
        `</${written}> where </${element.written}> is expected: <${element.written}> is opened in line ${element.line}`,
      );
    }
    element.innerEnd = this.#at;
    this.#at = end + 1;
    element.end = this.#at;
  }

  #start(): { element: XmlElement; isEmpty: boolean } {
    const start = this.#at;
    const line = this.#lineOf(start);
    this.#at += 1;
    const written = this.#name('a name behind <');
    const attributes = new Map<string, string>();
    for (;;) {
      this.#space();
      if (this.#source.startsWith('/>', this.#at)) {
        this.#at += 2;
        return { element: this.#element(written, attributes, start, line), isEmpty: true };
      }
      if (this.#source[this.#at] === '>') {
        this.#at += 1;
        return { element: this.#element(written, attributes, start, line), isEmpty: false };
      }
      if (this.#at >= this.#source.length) throw new XmlError(line, `<${written} is not closed`);
      const name = this.#name(`an attribute of <${written}>`).toLowerCase();
      this.#space();
      if (this.#source[this.#at] !== '=') throw this.#error(`attribute ${name} has no value`);
      this.#at += 1;
      this.#space();
      const quote = this.#source[this.#at];
      const end = this.#source.indexOf(quote ?? '', this.#at + 1);
      if ((quote !== '"' && quote !== "'") || end === -1) {
        throw this.#error(`the value of attribute ${name} is not in quotes`);
      }
      if (attributes.has(name)) throw this.#error(`attribute ${name} occurs twice`);
      attributes.set(name, decoded(this.#source.slice(this.#at + 1, end)));
      this.#at = end + 1;
    }
  }

  #element(
    written: string,
    attributes: ReadonlyMap<string, string>,
    start: number,
    line: number,
  ): XmlElement {
    const name = (written.split(':').at(-1) ?? written).toLowerCase();
    const end = this.#at;
    return {
      kind: 'element',
      name,
      written,
      attributes,
      children: [],
      start,
      end,
      innerStart: end,
      innerEnd: end,
      line,
    };
  }

  #name(what: string): string {
    NAME.lastIndex = this.#at;
    const found = NAME.exec(this.#source);
    if (!found) throw this.#error(`expected ${what}`);
    this.#at = NAME.lastIndex;
    return found[0];
  }

  #space(): void {
    while (/\s/.test(this.#source[this.#at] ?? '')) this.#at += 1;
  }

  #lineOf(at: number): number {
    for (; this.#counted < at; this.#counted += 1) {
      if (this.#source.charCodeAt(this.#counted) === 10) this.#line += 1;
    }
    return this.#line;
  }

  #error(text: string): XmlError {
    return new XmlError(this.#lineOf(this.#at), text);
  }
}

/** Reads a text; throws an `XmlError` with the line of the mistake. */
export function parseXml(source: string): XmlElement {
  return new Parser(source.replace(/^\uFEFF/, '')).parse();
}

export function elementsOf(element: XmlElement): XmlElement[] {
  return element.children.filter((child): child is XmlElement => child.kind === 'element');
}

export function childOf(element: XmlElement, name: string): XmlElement | undefined {
  return elementsOf(element).find((child) => child.name === name);
}

export function childrenOf(element: XmlElement, name: string): XmlElement[] {
  return elementsOf(element).filter((child) => child.name === name);
}

/** The text directly inside an element, as it is. */
export function rawText(element: XmlElement): string {
  return element.children.map((child) => (child.kind === 'text' ? child.text : '')).join('');
}

/** The text directly inside an element, without blanks around it. */
export const textOf = (element: XmlElement): string => rawText(element).trim();

export function childText(element: XmlElement, ...names: string[]): string | undefined {
  for (const name of names) {
    const child = childOf(element, name);
    if (child) return textOf(child);
  }
  return undefined;
}

/**
 * Which parts of a view the console shows: the table of `schemas/dashboards/simple-xml.json` applied to its XML.
 * `karst app check` (crates/apps/src/simple_xml.rs) gives the same reports; the samples beside the table are
 * compared in the tests of both.
 */

import table from '../../../../../schemas/dashboards/simple-xml.json';
import { elementsOf, parseXml, rawText, type XmlElement, XmlError } from './xml';

export type Level = 'full' | 'ignored' | 'part' | 'none';

export interface Finding {
  line: number;
  level: Level;
  /** The key of the note. */
  note: string;
  what: string;
}

export interface Report {
  root: string;
  level: Level;
  elements: [string, Level][];
  findings: Finding[];
}

type Names = Record<string, string>;
interface Context {
  attributes: Names;
  children: Names;
}

const NOTES: Names = table.notes;
const CONTEXTS: Record<string, Context> = table.contexts as Record<string, Context>;
const WITHIN: Names = table.within;
const VALUES: Record<string, Names> = table.values as unknown as Record<string, Names>;
const OPTIONS: Record<string, Names> = table.options as unknown as Record<string, Names>;
const ROOTS: Names = table.roots;
const ACTIVE_HTML = new Set(table.activeHtml);
const DRAWN = new Set(['table', 'chart', 'single', 'event', 'map', 'viz', 'list', 'html', 'input']);
const RANK: Record<Level, number> = { full: 0, ignored: 1, part: 2, none: 3 };

export const noteText = (note: string): string => NOTES[note] ?? note;
export const findingText = (finding: Finding): string =>
  `${finding.what}: ${noteText(finding.note)}`;

/** The worst of all findings; what is ignored has no effect. */
function worst(findings: readonly Finding[]): Level {
  let level: Level = 'full';
  for (const finding of findings) {
    if (finding.level !== 'ignored' && RANK[finding.level] > RANK[level]) level = finding.level;
  }
  return level;
}

function own(names: Names, name: string): string | undefined {
  return Object.hasOwn(names, name) ? names[name] : undefined;
}

/** The longest name with a star counts. */
function levelOf(names: Names, name: string): [Level, string] {
  let told = own(names, name);
  if (told === undefined) {
    const stars = Object.keys(names).filter(
      (known) => known.endsWith('*') && name.startsWith(known.slice(0, -1)),
    );
    const star = stars.sort((a, b) => b.length - a.length)[0];
    told = star === undefined ? 'full' : own(names, star);
  }
  const [level = 'full', note = ''] = (told ?? 'full').split(':');
  return [level as Level, note];
}

class Walk {
  readonly findings: Finding[] = [];
  readonly elements: [string, Level][] = [];

  node(node: XmlElement, context: string): void {
    const rules = CONTEXTS[context];
    if (!rules) return;
    for (const [name, value] of node.attributes) {
      const what = `attribute ${name} of <${node.name}>`;
      this.#note(node.line, rules.attributes, name, what);
      this.#value(node, `${node.name}@${name}`, value, what);
    }
    for (const child of elementsOf(node)) {
      const before = this.findings.length;
      const what = `<${child.name}> in <${node.name}>`;
      this.#note(child.line, rules.children, child.name, what);
      this.#value(child, `${context}>${child.name}`, rawText(child), `<${child.name}>`);
      if (child.name === 'option') this.#option(node, child);
      else if (child.name === 'html') this.#html(child);
      else {
        const inside = own(WITHIN, child.name);
        if (inside) this.node(child, inside);
      }
      if (DRAWN.has(child.name)) {
        this.elements.push([child.name, worst(this.findings.slice(before))]);
      }
    }
  }

  #note(line: number, names: Names, name: string, what: string): void {
    const [level, note] = levelOf(names, name);
    if (level !== 'full') this.findings.push({ line, level, note, what });
  }

  #value(node: XmlElement, key: string, value: string, what: string): void {
    const values = Object.hasOwn(VALUES, key) ? VALUES[key] : undefined;
    // What a token stands for is not known here.
    if (!values || value.includes('$')) return;
    const known = value.trim().toLowerCase();
    this.#note(node.line, values, known, `${what} ${known}`);
  }

  #option(node: XmlElement, option: XmlElement): void {
    const name = (option.attributes.get('name') ?? '').toLowerCase();
    const what = `option ${name} of <${node.name}>`;
    const options = Object.hasOwn(OPTIONS, node.name) ? OPTIONS[node.name] : undefined;
    if (options) this.#note(option.line, options, name, what);
    this.#value(option, `option:${name}`, rawText(option), what);
  }

  #html(html: XmlElement): void {
    const part = (line: number, note: string, what: string) =>
      this.findings.push({ line, level: 'part', note, what });
    if (html.attributes.has('src')) part(html.line, 'html-src', 'attribute src of <html>');
    const seen = new Set<string>();
    const visit = (node: XmlElement) => {
      if (ACTIVE_HTML.has(node.name) && !seen.has(node.name)) {
        seen.add(node.name);
        part(node.line, 'active-html', `<${node.name}> in <html>`);
      }
      elementsOf(node).forEach(visit);
    };
    elementsOf(html).forEach(visit);
  }
}

function refusal(root: XmlElement): string | null {
  const known = own(ROOTS, root.name);
  if (known === undefined) return 'root';
  if (known !== 'full') return root.attributes.get('type') === 'html' ? 'set-up' : 'advanced';
  return root.attributes.get('version') === '2' ? 'studio' : null;
}

export function reportOf(root: XmlElement): Report {
  const walk = new Walk();
  const refused = refusal(root);
  if (refused) {
    walk.findings.push({ line: root.line, level: 'none', note: refused, what: `<${root.name}>` });
  } else walk.node(root, 'root');
  const { elements, findings } = walk;
  return { root: root.name, level: worst(findings), elements, findings };
}

/** As `reportOf`, of a text that may not be XML. */
export function reportOfText(source: string): Report {
  try {
    return reportOf(parseXml(source));
  } catch (error) {
    if (!(error instanceof XmlError)) throw error;
    const finding: Finding = { line: 1, level: 'none', note: 'unreadable', what: 'the view' };
    return { root: '', level: 'none', elements: [], findings: [finding] };
  }
}

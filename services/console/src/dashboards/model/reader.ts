/**
 * From the text of a view to a `Dashboard`. Lenient: old spellings, any case, misplaced options and unknown
 * elements are read as far as they are known; what is not shown stands in `report`.
 */

import { reportOf } from './features';
import { withoutGeom } from './geom';
import { innerHtml } from './innerHtml';
import { readFormat } from './readFormat';
import { readActions, readHandler } from './readHandler';
import { readInput } from './readInput';
import { readOptions } from './readOptions';
import { Keys, readSearch, type SearchDefaults } from './readSearch';
import type { Dashboard, DashboardElement, ElementKind, Input, Panel, Row, Search } from './types';
import { fieldList, flag, secondsOf, tokenList } from './values';
import {
  childOf,
  childrenOf,
  childText,
  elementsOf,
  parseXml,
  textOf,
  type XmlElement,
} from './xml';

const KINDS: Record<string, ElementKind> = {
  table: 'table',
  chart: 'chart',
  single: 'single',
  event: 'event',
  html: 'html',
  map: 'map',
  viz: 'unsupported',
  list: 'unsupported',
};
/** The search of a form in the old spelling. */
const TEMPLATE = '$template';

/** Reads a view; throws an `XmlError` for a text that is not XML. */
export function readDashboard(source: string): Dashboard {
  return new Reader(source).read(parseXml(source));
}

/** Reads a prebuilt panel: a file of its own with `<panel>` as root. */
export function readPanelText(source: string): Panel {
  const root = parseXml(source);
  return new Reader(source).panel(root);
}

class Reader {
  readonly #source: string;
  readonly #keys = new Keys();
  readonly #searches: Search[] = [];
  #defaults: SearchDefaults = { template: null, earliest: null, latest: null };

  constructor(source: string) {
    this.#source = source.replace(/^\uFEFF/, '');
  }

  read(root: XmlElement): Dashboard {
    const attribute = (name: string) => root.attributes.get(name);
    const fieldset = childOf(root, 'fieldset');
    this.#template(root);
    const inputs = [
      ...childrenOf(root, 'input'),
      ...childrenOf(root, 'fieldset').flatMap((set) => childrenOf(set, 'input')),
    ].map((input) => readInput(input, this.#keys));
    const isForm = root.name === 'form';
    for (const search of childrenOf(root, 'search')) this.#searches.push(this.#search(search));
    const rows = this.#rows(root);
    const theme = attribute('theme')?.toLowerCase();
    const init = childOf(root, 'init');
    return {
      isForm,
      label: childText(root, 'label') ?? '',
      description: childText(root, 'description') ?? '',
      theme: theme === 'dark' || theme === 'light' ? theme : null,
      hideTitle: flag(attribute('hidetitle'), false),
      hideFilters: flag(attribute('hidefilters'), false),
      hideEdit: flag(attribute('hideedit'), false),
      hideExport: flag(attribute('hideexport'), false),
      refresh: secondsOf(attribute('refresh')),
      scripts: fileList(attribute('script')),
      stylesheets: fileList(attribute('stylesheet')),
      // Without inputs there is nothing to submit.
      submitButton: inputs.length > 0 && flag(fieldset?.attributes.get('submitbutton'), isForm),
      autoRun: flag(fieldset?.attributes.get('autorun'), false),
      inputs,
      rows,
      searches: this.#searches,
      init: init ? readActions(init) : [],
      report: reportOf(root),
    };
  }

  panel(panel: XmlElement): Panel {
    const inner = [panel, ...childrenOf(panel, 'fieldset')];
    for (const search of childrenOf(panel, 'search')) this.#searches.push(this.#search(search));
    const reference = panel.attributes.get('ref');
    return {
      key: this.#keys.next('panel'),
      id: panel.attributes.get('id') ?? null,
      title: childText(panel, 'title') ?? childText(panel, 'label') ?? null,
      description: childText(panel, 'description') ?? null,
      ...visibility(panel),
      inputs: inner
        .flatMap((part) => childrenOf(part, 'input'))
        .map((input) => readInput(input, this.#keys)),
      elements: elementsOf(panel)
        .filter((child) => Object.hasOwn(KINDS, child.name))
        .map((child) => this.#element(child)),
      reference: reference ? { name: reference, app: panel.attributes.get('app') ?? null } : null,
      place: [panel.start, panel.end],
    };
  }

  /** `<searchTemplate>` of a form, and the range that goes with it. */
  #template(root: XmlElement): void {
    const query = childText(root, 'searchtemplate', 'searchstring');
    const name = childText(root, 'searchname');
    const earliest = childText(root, 'earliesttime') ?? null;
    const latest = childText(root, 'latesttime') ?? null;
    if (query !== undefined || name !== undefined) {
      const source =
        query !== undefined
          ? ({ kind: 'query', query } as const)
          : ({ kind: 'report', name: name ?? '', app: null } as const);
      this.#searches.push({
        key: this.#keys.next('search'),
        id: TEMPLATE,
        source,
        earliest,
        latest,
        refresh: null,
        refreshType: 'delay',
        handlers: {},
        depends: [],
        rejects: [],
        line: root.line,
      });
      this.#defaults = { template: TEMPLATE, earliest, latest };
    } else this.#defaults = { template: null, earliest, latest };
  }

  #rows(root: XmlElement): Row[] {
    const rows: Row[] = [];
    for (const child of elementsOf(root)) {
      if (child.name === 'row') rows.push(this.#row(child));
      // Panels and elements without a row get one each.
      else if (child.name === 'panel') rows.push(this.#loose(this.panel(child)));
      else if (Object.hasOwn(KINDS, child.name)) rows.push(this.#loose(this.#bare(child)));
    }
    return rows;
  }

  #loose(panel: Panel): Row {
    return {
      key: this.#keys.next('row'),
      id: null,
      depends: [],
      rejects: [],
      panels: [panel],
      place: panel.place,
      isGrouped: false,
    };
  }

  #row(row: XmlElement): Row {
    for (const search of childrenOf(row, 'search')) this.#searches.push(this.#search(search));
    const drawn = elementsOf(row).filter(
      (child) => child.name === 'panel' || Object.hasOwn(KINDS, child.name),
    );
    const panels = drawn.map((child) =>
      child.name === 'panel' ? this.panel(child) : this.#bare(child),
    );
    const inputs = childrenOf(row, 'input').map((input) => readInput(input, this.#keys));
    if (inputs.length > 0 && panels[0]) panels[0].inputs.unshift(...inputs);
    const all = grouped(panels, row.attributes.get('grouping'));
    return {
      key: this.#keys.next('row'),
      id: row.attributes.get('id') ?? null,
      ...visibility(row),
      panels: all,
      place: [row.start, row.end],
      isGrouped: all !== panels,
    };
  }

  /** An element without a panel, as before version 6. */
  #bare(element: XmlElement): Panel {
    const read = this.#element(element);
    return {
      key: this.#keys.next('panel'),
      id: null,
      title: null,
      description: null,
      depends: [],
      rejects: [],
      inputs: [],
      elements: [read],
      reference: null,
      place: read.place,
    };
  }

  #search(element: XmlElement): Search {
    return readSearch(element, this.#keys, this.#defaults);
  }

  #element(element: XmlElement): DashboardElement {
    const options = readOptions(element);
    const kind = KINDS[element.name] ?? 'unsupported';
    const drilldown = childOf(element, 'drilldown');
    const selection = childOf(element, 'selection');
    let search = kind === 'html' ? null : this.#searchOf(element);
    const source = search?.source;
    const drawn =
      kind === 'map' && source && source.kind !== 'report' ? withoutGeom(source.query) : null;
    if (search && source && drawn) {
      search = { ...search, source: { ...source, query: drawn.query } as Search['source'] };
    }
    return {
      key: this.#keys.next(element.name),
      id: element.attributes.get('id') ?? null,
      kind,
      written: element.name,
      vizType: element.attributes.get('type') ?? '',
      title: kind === 'html' ? null : (childText(element, 'title', 'label') ?? null),
      description: childText(element, 'description') ?? null,
      ...visibility(element),
      search,
      shapes: drawn?.shapes ?? null,
      options,
      fields: fieldList(childText(element, 'fields') ?? options.get('fields')),
      formats: childrenOf(element, 'format').flatMap((format) => readFormat(format) ?? []),
      drilldown: drilldown ? readHandler(drilldown) : null,
      selection: selection ? readHandler(selection) : null,
      html: kind === 'html' ? this.#html(element) : '',
      place: [element.start, element.end],
    };
  }

  #html(element: XmlElement): string {
    // Written as text in CDATA, or escaped, or as elements.
    const texts = element.children.every((child) => child.kind === 'text');
    return texts ? textOf(element) : innerHtml(this.#source, element);
  }

  /** The search of an element: `<search>`, or its spellings before version 6.2. */
  #searchOf(element: XmlElement): Search | null {
    const searches = childrenOf(element, 'search');
    const own = searches.find((search) => search.attributes.get('type') !== 'annotation');
    if (own) return this.#search(own);
    const old = ['searchstring', 'searchtemplate', 'query', 'searchname', 'searchpostprocess'];
    if (old.some((name) => childOf(element, name)) || this.#defaults.template !== null) {
      return this.#search(element);
    }
    return null;
  }
}

/** Elements of a row side by side in one panel: `grouping="2,1"`. */
function grouped(panels: Panel[], grouping: string | undefined): Panel[] {
  const sizes = (grouping ?? '').split(',').map(Number);
  if (sizes.some((size) => !(size > 0)) || sizes.reduce((a, b) => a + b, 0) !== panels.length) {
    return panels;
  }
  let at = 0;
  return sizes.map((size) => {
    const [first, ...others] = panels.slice(at, at + size);
    at += size;
    if (!first) throw new Error('the sizes of the groups were checked');
    return { ...first, elements: [first, ...others].flatMap((panel) => panel.elements) };
  });
}

function visibility(element: XmlElement): { depends: string[]; rejects: string[] } {
  return {
    depends: tokenList(element.attributes.get('depends')),
    rejects: tokenList(element.attributes.get('rejects')),
  };
}

function fileList(text: string | undefined): string[] {
  return (text ?? '')
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '');
}

/** Every input, those above the rows first. */
export function allInputs(dashboard: Dashboard): Input[] {
  const panels = dashboard.rows.flatMap((row) => row.panels);
  return [...dashboard.inputs, ...panels.flatMap((panel) => panel.inputs)];
}

/** Every search, with that of its element or input. */
export function allSearches(dashboard: Dashboard): Search[] {
  const panels = dashboard.rows.flatMap((row) => row.panels);
  const elements = panels.flatMap((panel) => panel.elements);
  return [
    ...dashboard.searches,
    ...allInputs(dashboard).flatMap((input) => input.search ?? []),
    ...elements.flatMap((element) => element.search ?? []),
  ];
}

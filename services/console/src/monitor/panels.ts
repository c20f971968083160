/** Dashboards of the product written as lists of panels; they become the Simple XML that the runtime reads. */

export interface Panel {
  title: string;
  /** Below the title: what is shown, a threshold, a formula. */
  about?: string;
  kind: 'single' | 'line' | 'area' | 'column' | 'bar' | 'pie' | 'table';
  search: string;
  /** Another range than that of the page. */
  earliest?: string;
  latest?: string;
  options?: Record<string, string>;
  /** Why there may be no rows. */
  reason?: string;
  /** Of a single value: it is amber from the first on, red from the second on. */
  thresholds?: [number, number];
  /** Of a table: where a click on a row leads; with `$row.FIELD$`. */
  link?: string;
  /** Of a table: the columns that are shown; all without. */
  fields?: string[];
  /** Of a table: columns of dollars. */
  money?: string[];
}

/** How the audit trail names what the pages of this area ask for. */
export const OWN = 'UI:Monitor';

/** Whether lists of searches have those of these pages, too: the token `own`, a condition of a search. */
export const OWN_SEARCHES: Input = {
  token: 'own',
  label: 'Searches by Monitor',
  initial: `NOT provenance="${OWN}:*"`,
  choices: { [`NOT provenance="${OWN}:*"`]: 'Hide', '*': 'Show' },
};

/** A panel that cannot be filled yet, and why. */
export interface Missing {
  title: string;
  missing: string;
}

export interface Input {
  token: string;
  label: string;
  initial: string;
  /** Choices by value; a text input without. */
  choices?: Record<string, string>;
  /** Further choices by a search, and its field. */
  search?: string;
  field?: string;
}

export interface Page {
  label: string;
  about: string;
  span: [string, string];
  inputs: Input[];
  /** Without them the page says nothing. */
  indexes: readonly string[];
  /** Values of tokens that are no inputs. */
  tokens: Record<string, string>;
  rows: (Panel | Missing)[][];
}

/** The indexes that are not listed for the user, who may not search them then. */
export function missingOf(indexes: readonly string[], listed: readonly { name: string }[]) {
  const names = new Set(listed.map(({ name }) => name));
  return indexes.filter((name) => !names.has(name));
}

export const isMissing = (panel: Panel | Missing): panel is Missing => 'missing' in panel;

const SIGNS: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' };
export const escaped = (text: string): string =>
  text.replace(/[&<>"]/g, (sign) => SIGNS[sign] ?? sign);

const GREEN = '0x2f855a';
const AMBER = '0x975a16';
const RED = '0xc53030';

function optionsOf(panel: Panel): Record<string, string> {
  const options: Record<string, string> = { ...panel.options };
  if (panel.reason) options['karst.reason'] = panel.reason;
  if (panel.thresholds) {
    options.useColors = '1';
    options.colorMode = 'block';
    options.rangeValues = JSON.stringify(panel.thresholds);
    options.rangeColors = JSON.stringify([GREEN, AMBER, RED]);
  }
  if (panel.kind === 'table') {
    options.count ??= '10';
    options.drilldown ??= panel.link ? 'row' : 'none';
    options['karst.lines'] = '1';
  } else if (panel.kind !== 'single') {
    options['charting.chart'] = panel.kind;
    options['charting.legend.placement'] ??= 'bottom';
    options['charting.axisTitleX.visibility'] ??= 'collapsed';
    options['charting.drilldown'] ??= 'none';
    if (panel.kind === 'area') options['charting.chart.stackMode'] ??= 'stacked';
    if (panel.kind === 'line') {
      options['charting.chart.nullValueMode'] ??= 'gaps';
      options['charting.axisY.includeZero'] ??= '1';
    }
    options.height ??= '230';
  } else options.drilldown ??= 'none';
  return options;
}

function panelXml(panel: Panel | Missing): string {
  if (isMissing(panel)) {
    return `<panel><title>${escaped(panel.title)}</title><html><p class="karst-missing">Not available: ${escaped(panel.missing)}</p></html></panel>`;
  }
  const element = panel.kind === 'single' || panel.kind === 'table' ? panel.kind : 'chart';
  const options = Object.entries(optionsOf(panel)).map(
    ([name, value]) => `<option name="${name}">${escaped(value)}</option>`,
  );
  const link = panel.link
    ? `<drilldown><link target="_blank">${escaped(panel.link)}</link></drilldown>`
    : '';
  const fields = panel.fields ? `<fields>${escaped(JSON.stringify(panel.fields))}</fields>` : '';
  const formats = (panel.money ?? []).map(
    (field) =>
      `<format type="number" field="${escaped(field)}"><option name="karst.money">1</option></format>`,
  );
  const about = panel.about ? `<description>${escaped(panel.about)}</description>` : '';
  return `<panel><${element}><title>${escaped(panel.title)}</title>${about}<search><query>${escaped(panel.search)}</query><earliest>${escaped(panel.earliest ?? '$span.earliest$')}</earliest><latest>${escaped(panel.latest ?? '$span.latest$')}</latest></search>${fields}${options.join('')}${formats.join('')}${link}</${element}></panel>`;
}

function inputXml(input: Input): string {
  if (!input.choices && !input.search) {
    return `<input type="text" token="${input.token}"><label>${escaped(input.label)}</label>${input.initial === '' ? '' : `<default>${escaped(input.initial)}</default>`}</input>`;
  }
  const choices = Object.entries(input.choices ?? {}).map(
    ([value, label]) => `<choice value="${escaped(value)}">${escaped(label)}</choice>`,
  );
  const field = input.field ?? 'value';
  const search = input.search
    ? `<search><query>${escaped(input.search)}</query><earliest>-24h</earliest><latest>now</latest></search><fieldForLabel>${field}</fieldForLabel><fieldForValue>${field}</fieldForValue>`
    : '';
  return `<input type="dropdown" token="${input.token}" searchWhenChanged="true"><label>${escaped(input.label)}</label>${choices.join('')}${search}<default>${escaped(input.initial)}</default></input>`;
}

/** The page as a form in Simple XML. */
export function pageXml(page: Page): string {
  const [earliest, latest] = page.span;
  const time = `<input type="time" token="span"><label>Time range</label><default><earliest>${earliest}</earliest><latest>${latest}</latest></default></input>`;
  const tokens = Object.entries(page.tokens).map(
    ([name, value]) => `<set token="${name}">${escaped(value)}</set>`,
  );
  const rows = page.rows.map((row) => `<row>${row.map(panelXml).join('')}</row>`);
  return `<form version="1.1"><label>${escaped(page.label)}</label><init>${tokens.join('')}</init><fieldset submitButton="false" autoRun="true">${time}${page.inputs.map(inputXml).join('')}</fieldset>${rows.join('')}</form>`;
}

/**
 * What the editor by form offers for each kind of element: where a value stands in the text, and which
 * values it may have. What is not here is changed in the source.
 */

import { childrenOf, rawText, textOf, type XmlElement } from '../model/xml';
import { colorMistake, type NumberRange, numberMistake } from './mistakes';
import {
  elementAt,
  firstChild,
  sourceOf,
  withAttribute,
  withChild,
  withOption,
  withText,
} from './source';

export interface FormField {
  label: string;
  kind: 'text' | 'number' | 'choice' | 'switch' | 'color';
  at:
    | { option: readonly string[] }
    | { child: readonly string[]; behind?: readonly string[]; isExact?: boolean }
    | { attribute: string }
    /** The text of the element itself. */
    | 'text';
  /** Of a choice: values with their words. */
  choices?: Readonly<Record<string, string>>;
  /** What counts where nothing is written; choosing it removes what is written. */
  usual: string;
  help?: string;
  /** Values that a text may have, among others. */
  suggestions?: readonly string[];
  /** Of a number. */
  range?: NumberRange;
}

const option = (
  label: string,
  kind: FormField['kind'],
  names: string | readonly string[],
  usual = '',
  more: Partial<FormField> = {},
): FormField => ({
  label,
  kind,
  at: { option: typeof names === 'string' ? [names] : names },
  usual,
  ...more,
});

const choice = (
  label: string,
  names: string | readonly string[],
  usual: string,
  choices: Readonly<Record<string, string>>,
): FormField => option(label, 'choice', names, usual, { choices });

const HEIGHT = option('Height in pixels', 'number', 'height', '', { help: 'Empty: the default' });
const TRELLIS: FormField[] = [
  option('One panel for each value (trellis)', 'switch', 'trellis.enabled', '0'),
  option('Split by', 'text', 'trellis.splitBy', '', { help: 'A field, or _aggregation' }),
  choice('Size of the panels', 'trellis.size', 'medium', {
    small: 'Small',
    medium: 'Medium',
    large: 'Large',
  }),
];

const CHART: FormField[] = [
  choice('Chart', 'charting.chart', 'column', {
    column: 'Columns',
    bar: 'Bars',
    line: 'Lines',
    area: 'Areas',
    pie: 'Pie',
    scatter: 'Scatter',
    bubble: 'Bubbles',
    radialGauge: 'Radial gauge',
    fillerGauge: 'Filler gauge',
    markerGauge: 'Marker gauge',
  }),
  choice('Stack', ['charting.chart.stackMode', 'charting.stackMode'], 'default', {
    default: 'Side by side',
    stacked: 'Stacked',
    stacked100: 'Stacked to 100 %',
  }),
  choice('Missing values', ['charting.chart.nullValueMode', 'charting.nullValueMode'], 'gaps', {
    gaps: 'Gaps',
    zero: 'Zero',
    connect: 'Connected',
  }),
  choice('Legend', 'charting.legend.placement', 'right', {
    right: 'Right',
    bottom: 'Below',
    top: 'Above',
    left: 'Left',
    none: 'None',
  }),
  option('Title of the X axis', 'text', [
    'charting.axisTitleX.text',
    'charting.primaryAxisTitle.text',
    'primaryAxisTitle.text',
  ]),
  option('Title of the Y axis', 'text', [
    'charting.axisTitleY.text',
    'charting.secondaryAxisTitle.text',
    'secondaryAxisTitle.text',
  ]),
  choice('Scale of the Y axis', 'charting.axisY.scale', 'linear', {
    linear: 'Linear',
    log: 'Logarithmic',
  }),
  option('Minimum of the Y axis', 'number', 'charting.axisY.minimumNumber'),
  option('Maximum of the Y axis', 'number', 'charting.axisY.maximumNumber'),
  choice('Values at the data points', 'charting.chart.showDataLabels', 'none', {
    none: 'None',
    all: 'All',
    minmax: 'Minimum and maximum',
  }),
  option('Fields drawn as lines over it', 'text', 'charting.chart.overlayFields', '', {
    help: 'Separated by commas',
  }),
  option('Colours of the series', 'text', 'charting.seriesColors', '', {
    help: '[0x53a051, 0xdc4e41]',
  }),
  HEIGHT,
  ...TRELLIS,
];

const TABLE: FormField[] = [
  option('Rows of a page', 'number', 'count', '10'),
  {
    label: 'Columns, in order',
    kind: 'text',
    at: { child: ['fields'], behind: ['title', 'description', 'search'] },
    usual: '',
    help: 'Empty: all. Separated by commas',
  },
  option('Row numbers', 'switch', ['rowNumbers', 'displayRowNumbers'], 'false'),
  option('Break long values', 'switch', 'wrap', 'true'),
  option('Row of sums', 'switch', 'totalsRow', 'false'),
  option('Row of shares', 'switch', 'percentagesRow', 'false'),
  choice('Colours of values', 'dataOverlayMode', 'none', {
    none: 'None',
    heatmap: 'Heat map',
    highlow: 'Highest and lowest',
  }),
  HEIGHT,
];

const SINGLE: FormField[] = [
  option('Field', 'text', 'field', '', { help: 'Empty: the first column' }),
  option('Unit', 'text', 'unit'),
  choice('Place of the unit', 'unitPosition', 'after', {
    after: 'After the value',
    before: 'Before the value',
  }),
  choice('Precision', 'numberPrecision', '0', {
    '0': '0',
    '0.0': '0.0',
    '0.00': '0.00',
    '0.000': '0.000',
  }),
  option('Text below', 'text', 'underLabel'),
  option('Colours', 'switch', 'useColors', '0'),
  choice('Colour by', 'colorBy', 'value', { value: 'Value', trend: 'Trend' }),
  option('Bounds of the colours', 'text', 'rangeValues', '[0,30,70,100]', {
    help: '[0,30,70,100]',
  }),
  option('Colours, one more than bounds', 'text', 'rangeColors', '', {
    help: '[0x53a051, 0xf8be34, 0xdc4e41]',
  }),
  choice('Colour fills the panel', 'colorMode', 'none', { none: 'No', block: 'Yes' }),
  option('Sparkline', 'switch', 'showSparkline', '1'),
  option('Trend', 'switch', 'showTrendIndicator', '1'),
  choice('Trend as', 'trendDisplayMode', 'absolute', {
    absolute: 'Difference',
    percent: 'Percent',
  }),
  option('Trend compared with', 'text', 'trendInterval', 'auto', {
    help: '-24h; auto: one before',
  }),
  HEIGHT,
  ...TRELLIS,
];

const EVENT: FormField[] = [
  choice('Shown as', 'type', 'list', { list: 'List', raw: 'Raw text', table: 'Table' }),
  option('Events of a page', 'number', 'count', '10'),
  option('Lines of an event', 'number', 'maxLines', '', { help: '0: all' }),
];

const MAP: FormField[] = [
  choice('Map', 'mapping.type', 'marker', { marker: 'Markers', choropleth: 'Regions' }),
  option('Maximum number of markers', 'number', 'mapping.data.maxClusters', '100'),
  option('The wheel zooms', 'switch', 'mapping.map.scrollZoom', 'false'),
  HEIGHT,
];

export const FIELDS: Record<string, FormField[]> = {
  chart: CHART,
  table: TABLE,
  single: SINGLE,
  event: EVENT,
  map: MAP,
  viz: [HEIGHT],
};

export const KIND_NAMES: readonly (readonly [string, string])[] = [
  ['chart', 'Chart'],
  ['table', 'Table'],
  ['single', 'Single value'],
  ['event', 'Events'],
  ['map', 'Map'],
  ['html', 'Text (HTML)'],
];

const SHOWN: FormField = {
  label: 'Shown while these tokens are set',
  kind: 'text',
  at: { attribute: 'depends' },
  usual: '',
  help: '$a$, $b$',
};
const HIDDEN: FormField = {
  label: 'Hidden while one of these is set',
  kind: 'text',
  at: { attribute: 'rejects' },
  usual: '',
};
const title = (label: string): FormField => ({
  label,
  kind: 'text',
  at: { child: ['title'] },
  usual: '',
});

export const PANEL: FormField[] = [title('Title of the panel'), SHOWN, HIDDEN];
export const ELEMENT_TITLE: FormField = title('Title');
export const ELEMENT_SHOWN: FormField[] = [SHOWN, HIDDEN];

export const DASHBOARD: FormField[] = [
  { label: 'Title', kind: 'text', at: { child: ['label'] }, usual: '' },
  {
    label: 'Description',
    kind: 'text',
    at: { child: ['description'], behind: ['label'] },
    usual: '',
  },
  {
    label: 'Colours',
    kind: 'choice',
    at: { attribute: 'theme' },
    choices: { '': 'Those of the reader', light: 'Light', dark: 'Dark' },
    usual: '',
  },
  {
    label: 'Run all searches again every',
    kind: 'text',
    at: { attribute: 'refresh' },
    usual: '',
    help: 'Seconds; empty: never',
  },
];

/** Of `<fieldset>`. */
export const FIELDSET: FormField[] = [
  {
    label: 'A button submits the inputs',
    kind: 'switch',
    at: { attribute: 'submitButton' },
    usual: 'true',
  },
  {
    label: 'Searches run when it is opened',
    kind: 'switch',
    at: { attribute: 'autoRun' },
    usual: 'false',
    help: 'Only with a button',
  },
];

const FRONT = ['label', 'choice', 'search', 'populatingsearch'];

export function inputFields(kind: string): FormField[] {
  const text = (label: string, name: string, usual = '', help?: string): FormField => ({
    label,
    kind: 'text',
    // Blanks count: ` OR `.
    at: { child: [name], behind: FRONT, isExact: true },
    usual,
    ...(help ? { help } : {}),
  });
  const common: FormField[] = [
    { label: 'Label', kind: 'text', at: { child: ['label'] }, usual: '' },
    {
      label: 'Token',
      kind: 'text',
      at: { attribute: 'token' },
      usual: '',
      help:
        kind === 'time'
          ? 'Searches use $token.earliest$ and $token.latest$'
          : 'Searches use $token$',
    },
    {
      label: 'A choice is submitted at once',
      kind: 'switch',
      at: { attribute: 'searchWhenChanged' },
      usual: 'false',
      help: 'Even if there is a button',
    },
  ];
  if (kind === 'time') return common;
  const several: FormField[] = [
    text('Before each value', 'valuePrefix'),
    text('After each value', 'valueSuffix'),
    text('Between values', 'delimiter', ' '),
  ];
  const isSeveral = kind === 'multiselect' || kind === 'checkbox';
  return [
    ...common,
    text('Default', 'default', '', isSeveral ? 'Separated by commas' : undefined),
    text('Before the whole', 'prefix'),
    text('After the whole', 'suffix'),
    ...(isSeveral ? several : []),
    ...(kind === 'dropdown' || kind === 'radio' || kind === 'link'
      ? [
          {
            label: 'Choose the first one',
            kind: 'switch',
            at: { child: ['selectFirstChoice'], behind: FRONT },
            usual: 'false',
          } as FormField,
        ]
      : []),
    { label: SHOWN.label, kind: 'text', at: SHOWN.at, usual: '' },
  ];
}

/** The value as it is written; null where it is not. */
export function readField(element: XmlElement, field: FormField): string | null {
  const { at } = field;
  if (at === 'text') return textOf(element);
  if ('attribute' in at) return element.attributes.get(at.attribute.toLowerCase()) ?? null;
  if ('child' in at) {
    const child = firstChild(element, at.child);
    if (!child) return null;
    return at.isExact ? rawText(child) : textOf(child);
  }
  for (const name of at.option) {
    const found = childrenOf(element, 'option').filter(
      (one) => one.attributes.get('name')?.toLowerCase() === name.toLowerCase(),
    );
    const last = found.at(-1);
    if (last) return textOf(last);
  }
  return null;
}

/** What is wrong with a value; null where it may be written: empty, and with a token, it may. */
export function mistakeIn({ kind, range }: FormField, value: string): string | null {
  if (value.trim() === '' || value.includes('$')) return null;
  if (kind === 'number') return numberMistake(value, range);
  return kind === 'color' ? colorMistake(value) : null;
}

/** Writes a value; null, and what is usual where nothing is written yet, leave nothing. */
export function writeField(
  text: string,
  place: number,
  field: FormField,
  value: string | null,
): string {
  const source = sourceOf(text);
  const element = elementAt(source, place);
  if (!element) return text;
  const isUsual = value === null || value === '' || value === field.usual;
  const next = isUsual ? null : value;
  const { at } = field;
  if (at === 'text') return withText(source, element, value ?? '');
  if ('attribute' in at) return withAttribute(source, element, at.attribute, next);
  if ('child' in at) {
    return withChild(source, element, at.child, next, at.behind, at.isExact);
  }
  return withOption(source, element, at.option, next);
}

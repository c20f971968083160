/** The settings of `props.conf` that the preview offers, in groups. */

import type { PropsSetting } from './preview';

export interface PropsGroup {
  title: string;
  isOpen: boolean;
  names: readonly string[];
}

export const GROUPS: readonly PropsGroup[] = [
  {
    title: 'Event breaks',
    isOpen: true,
    names: [
      'LINE_BREAKER',
      'SHOULD_LINEMERGE',
      'BREAK_ONLY_BEFORE_DATE',
      'BREAK_ONLY_BEFORE',
      'MUST_BREAK_AFTER',
      'MAX_EVENTS',
      'TRUNCATE',
    ],
  },
  {
    title: 'Timestamp',
    isOpen: true,
    names: [
      'TIME_PREFIX',
      'TIME_FORMAT',
      'MAX_TIMESTAMP_LOOKAHEAD',
      'TZ',
      'DATETIME_CONFIG',
      'MAX_DAYS_AGO',
      'MAX_DAYS_HENCE',
    ],
  },
  {
    title: 'Structure and encoding',
    isOpen: false,
    names: [
      'INDEXED_EXTRACTIONS',
      'FIELD_DELIMITER',
      'FIELD_QUOTE',
      'FIELD_NAMES',
      'HEADER_FIELD_LINE_NUMBER',
      'TIMESTAMP_FIELDS',
      'PREAMBLE_REGEX',
      'CHARSET',
    ],
  },
];

/** Settings with few values. */
const CHOICES: Record<string, readonly string[]> = {
  SHOULD_LINEMERGE: ['true', 'false'],
  BREAK_ONLY_BEFORE_DATE: ['true', 'false'],
  INDEXED_EXTRACTIONS: ['', 'csv', 'tsv', 'psv', 'w3c', 'json', 'otlp'],
  KV_MODE: ['none', 'auto', 'auto_escaped', 'json', 'xml', 'multi'],
};

/** The values of a setting, with the one that it has; null if it is typed. */
export function choicesOf(name: string, value: string): string[] | null {
  const known = CHOICES[name];
  if (!known) return null;
  return known.includes(value) ? [...known] : [...known, value];
}

/** Names of settings of each further group: those that searches use, and those that were added. */
export function furtherNames(
  settings: readonly PropsSetting[],
  tried: ReadonlyMap<string, string>,
): { fields: string[]; added: string[] } {
  const grouped = new Set(GROUPS.flatMap((group) => group.names));
  const fields = settings
    .filter(({ name, isOfSearch, place }) => isOfSearch && (name === 'KV_MODE' || place !== null))
    .map(({ name }) => name)
    .filter((name) => !grouped.has(name));
  const known = new Set([...grouped, ...fields]);
  const added = [...tried.keys()].filter((name) => !known.has(name));
  return { fields: [...new Set(fields)], added };
}

/** Names for the field of another setting; those of classes end with a hyphen. */
export const MORE_NAMES: readonly string[] = [
  'EXTRACT-',
  'REPORT-',
  'SEDCMD-',
  'TRANSFORMS-',
  'FIELDALIAS-',
  'EVENT_BREAKER',
  'MUST_NOT_BREAK_BEFORE',
  'MUST_NOT_BREAK_AFTER',
  'ANNOTATE_PUNCT',
  'HEADER_FIELD_DELIMITER',
  'FIELD_HEADER_REGEX',
  'MISSING_VALUE_REGEX',
];

/** Why a name cannot be added; null if it can. The server knows which settings there are. */
export function nameProblem(name: string, tried: ReadonlyMap<string, string>): string | null {
  if (!/^[A-Za-z][\w.-]*$/.test(name)) return 'Letters, digits, _, - and . only.';
  if (name.endsWith('-')) return `A name such as ${name}user is required.`;
  return tried.has(name) ? `${name} is in the list already.` : null;
}

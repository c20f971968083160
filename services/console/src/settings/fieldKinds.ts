/** Fields that rules of props.conf and transforms.conf add to events at search time. */

import type { Entry } from '../api/types';
import { column, contentText, type Field, isOnByDefault, isTrue, type Kind } from '../objects/kind';
import { quoted } from '../query/syntax';
import {
  aliasesProblem,
  classOf,
  fieldsProblem,
  lookupProblem,
  lookupValue,
  permissionsOfStanza,
  searchOfField,
  searchOfSetting,
} from './stanzas';

const STANZA: Field = {
  name: 'stanza',
  label: 'For',
  kind: 'text',
  isRequired: true,
  when: 'new',
  help: 'A source type, host::PATTERN or source::PATTERN.',
};

const NAME: Field = {
  name: 'name',
  label: 'Name',
  kind: 'text',
  isRequired: true,
  when: 'new',
  read: classOf,
};

/** What all settings of props.conf have in common. */
const OF_STANZAS = {
  isOfApps: true,
  capability: 'edit_own_objects',
  permissions: permissionsOfStanza,
  search: searchOfSetting,
} as const;

const isReport = (entry: Entry) => contentText(entry, 'attribute').startsWith('REPORT-');

export const extractions: Kind = {
  ...OF_STANZAS,
  title: 'Field extractions',
  noun: 'field extraction',
  about:
    'Fields of events by a regular expression with named groups, for a source type, a host or a source. They also apply to events that are already stored.',
  path: '/services/data/props/extractions',
  columns: [column('For', 'stanza'), column('Value', 'value', { isCode: true })],
  fields: [
    STANZA,
    NAME,
    {
      name: 'type',
      label: 'Kind',
      kind: 'choice',
      when: 'new',
      read: (entry) => (isReport(entry) ? 'REPORT' : 'EXTRACT'),
      options: [
        { value: 'EXTRACT', label: 'a regular expression here' },
        { value: 'REPORT', label: 'names of field transforms' },
      ],
    },
    {
      name: 'value',
      label: 'Regular expression, or names of field transforms',
      kind: 'area',
      isRequired: true,
      help: 'Such as user=(?<user>\\w+)',
    },
  ],
  isCopied: true,
  loss: (entry) =>
    `Fields that ${entry.name} extracts are missing in searches. Events are not changed.`,
};

export const fieldTransforms: Kind = {
  title: 'Field transforms',
  noun: 'field transform',
  about:
    'Rules that extract fields by a regular expression or by delimiters. A field extraction names the transforms that apply to its events. The settings of transforms that change events before they are stored, such as DEST_KEY, are not part of the form and are kept.',
  path: '/services/data/transforms/extractions',
  isOfApps: true,
  capability: 'edit_own_objects',
  columns: [
    column('Regular expression', 'REGEX', { isCode: true }),
    column('Format', 'FORMAT', { isCode: true }),
    column('Delimiters', 'DELIMS', { isCode: true }),
    column('Fields', 'FIELDS'),
  ],
  fields: [
    { name: 'name', label: 'Name', kind: 'text', isRequired: true, when: 'new' },
    {
      name: 'REGEX',
      label: 'Regular expression',
      kind: 'area',
      neededWithout: 'DELIMS',
      help: 'Named groups become fields: user=(?<user>\\w+). Or use delimiters.',
    },
    {
      name: 'FORMAT',
      label: 'Format',
      kind: 'text',
      help: 'FIELD::VALUE with the groups of the regular expression: $1::$2. Not needed with named groups.',
    },
    {
      name: 'DELIMS',
      label: 'Delimiters',
      kind: 'text',
      neededBy: 'FIELDS',
      help: 'Of values, such as ","; or of pairs, and of keys in them, such as ";", "=".',
    },
    {
      name: 'FIELDS',
      label: 'Fields',
      kind: 'text',
      help: 'Names for the values between delimiters, separated by commas.',
    },
    {
      name: 'SOURCE_KEY',
      label: 'Read from the field',
      kind: 'text',
      help: 'Empty: the text of the event (_raw).',
    },
    { name: 'MV_ADD', label: 'Add values to a field that exists', kind: 'switch' },
    {
      name: 'CLEAN_KEYS',
      label: 'Replace other characters than letters, digits and _ in names of fields',
      kind: 'switch',
      initial: true,
      read: isOnByDefault('CLEAN_KEYS'),
    },
    { name: 'KEEP_EMPTY_VALS', label: 'Keep fields with empty values', kind: 'switch' },
  ],
  loss: (entry) =>
    `Field extractions that use ${entry.name} no longer extract its fields. Events are not changed.`,
};

export const fieldAliases: Kind = {
  ...OF_STANZAS,
  title: 'Field aliases',
  noun: 'field alias',
  about:
    'Further names of fields. Searches find the values under both names. Aliases are computed after field extractions, and before calculated fields.',
  path: '/services/data/props/fieldaliases',
  columns: [column('For', 'stanza'), column('Aliases', 'value', { isCode: true })],
  fields: [
    STANZA,
    NAME,
    {
      name: 'value',
      label: 'Aliases',
      kind: 'area',
      isRequired: true,
      check: aliasesProblem,
      help: 'FIELD AS NAME, one or several, such as clientip AS src_ip. ASNEW instead of AS keeps a field that an event has.',
    },
  ],
  isCopied: true,
  loss: (entry) =>
    `The names that ${entry.name} adds are missing in searches. Events and their fields are not changed.`,
};

export const calculatedFields: Kind = {
  ...OF_STANZAS,
  title: 'Calculated fields',
  noun: 'calculated field',
  about:
    'Fields computed by an eval expression for every event of a source type, a host or a source.',
  path: '/services/data/props/calcfields',
  columns: [column('For', 'stanza'), column('Expression', 'value', { isCode: true })],
  fields: [
    STANZA,
    { ...NAME, label: 'Field' },
    {
      name: 'value',
      label: 'Expression',
      kind: 'area',
      isRequired: true,
      help: 'Such as bytes/1024',
    },
  ],
  isCopied: true,
  search: searchOfField,
  loss: (entry) => `The field of ${entry.name} is missing in searches. Events are not changed.`,
};

export const automaticLookups: Kind = {
  ...OF_STANZAS,
  title: 'Automatic lookups',
  noun: 'automatic lookup',
  about:
    'Fields of a lookup that are added to every event of a source type, a host or a source, without the command lookup.',
  path: '/services/data/props/lookups',
  columns: [column('For', 'stanza'), column('Lookup and fields', 'value', { isCode: true })],
  fields: [
    STANZA,
    NAME,
    {
      name: 'transform',
      label: 'Lookup',
      kind: 'choice',
      source: 'lookups',
      none: 'none',
      isRequired: true,
      when: 'new',
      help: 'One of the lookups of the app, and of those that other apps share. Create it first.',
    },
    {
      name: 'inputs',
      label: 'Compared fields',
      kind: 'text',
      isRequired: true,
      when: 'new',
      check: fieldsProblem,
      help: 'LOOKUP FIELD AS EVENT FIELD, separated by commas, such as ip AS clientip. Equal names are written once.',
    },
    {
      name: 'outputs',
      label: 'Added fields',
      kind: 'text',
      when: 'new',
      // Without them, the command has no OUTPUTNEW.
      neededBy: 'isKept',
      check: fieldsProblem,
      help: 'LOOKUP FIELD AS EVENT FIELD, separated by commas. Empty: all other fields of the lookup.',
    },
    {
      name: 'isKept',
      label: 'Keep the fields that an event has',
      kind: 'switch',
      when: 'new',
    },
    {
      name: 'value',
      label: 'Lookup and fields',
      kind: 'area',
      isRequired: true,
      when: 'existing',
      check: lookupProblem,
      help: 'LOOKUP FIELD AS EVENT FIELD OUTPUT FIELD AS EVENT FIELD, as in the command lookup. OUTPUTNEW instead of OUTPUT keeps the fields that an event has.',
    },
  ],
  request: ({ transform, inputs, outputs, isKept, ...rest }, entry, path) => {
    if (entry) return { path, form: rest };
    const value = lookupValue(String(transform), {
      inputs: String(inputs ?? ''),
      outputs: String(outputs ?? ''),
      isKept: isTrue(isKept),
    });
    return { path, form: { ...rest, value } };
  },
  loss: (entry) =>
    `The fields that ${entry.name} adds are missing in searches. The lookup and its file stay.`,
};

export const sourceTypeRenames: Kind = {
  ...OF_STANZAS,
  title: 'Source type renames',
  noun: 'rename of a source type',
  about:
    'Names of source types in searches. The extractions, calculated fields and lookups of the new name apply to the events; stored events are not changed.',
  path: '/services/data/props/sourcetype-rename',
  columns: [column('Source type', 'stanza'), column('Name in searches', 'value')],
  fields: [
    {
      ...STANZA,
      label: 'Source type',
      help: 'The name that the events have been stored with.',
      check: (text) => (text.includes('::') ? 'Only source types have other names' : null),
    },
    { name: 'value', label: 'Name in searches', kind: 'text', isRequired: true },
  ],
  // The server asks for a name, which this setting does not have.
  more: { name: 'rename' },
  search: (entry) => `index=* sourcetype=${quoted(contentText(entry, 'value'))}`,
  loss: (entry) =>
    `Searches for ${contentText(entry, 'value')} no longer find the events of ${contentText(entry, 'stanza')}, which have their stored name again.`,
};

/** Knowledge objects: what apps and users add to events at search time. */

import type { Entry } from '../api/types';
import { column, type Field, type Form, isOnByDefault, type Kind } from '../objects/kind';
import { fieldName, quoted } from '../query/syntax';
import { searchOfStanza } from './stanzas';

const SEARCHES = 'Searches, reports and dashboards that use it';

export const macros: Kind = {
  title: 'Macros',
  noun: 'macro',
  about: 'A macro is a named part of a search: `errors(500)` in a search becomes its definition.',
  path: '/services/data/macros',
  isOfApps: true,
  capability: 'edit_own_objects',
  columns: [column('Arguments', 'args'), column('Definition', 'definition', { isCode: true })],
  fields: [
    {
      name: 'name',
      label: 'Name',
      kind: 'text',
      isRequired: true,
      when: 'new',
      help: 'With the number of its arguments, if it has any: errors(1).',
      // Of a copy: the number stays at the end.
      read: (entry) => entry.name.replace(/(\(\d+\))?$/, '_copy$1'),
    },
    { name: 'args', label: 'Arguments', kind: 'text', help: 'Their names, separated by commas.' },
    { name: 'definition', label: 'Definition', kind: 'area', isRequired: true },
    {
      name: 'iseval',
      label: 'The definition is an eval expression that generates the text',
      kind: 'switch',
    },
    {
      name: 'validation',
      label: 'Condition on the arguments',
      kind: 'text',
      help: 'An eval expression.',
    },
    { name: 'errormsg', label: 'Message if the condition is false', kind: 'text' },
    { name: 'description', label: 'Description', kind: 'text' },
  ],
  isCopied: true,
  loss: (entry) => `${SEARCHES} fail: the macro ${entry.name} no longer exists.`,
};

/** As the server: a tag has no blanks. */
export function tagsProblem(text: string): string | null {
  const tags = text.split(',').map((tag) => tag.trim());
  const wrong = tags.find((tag) => /\s/.test(tag));
  return wrong === undefined ? null : `"${wrong}" has a blank: separate tags by commas`;
}

export const eventTypes: Kind = {
  title: 'Event types',
  noun: 'event type',
  about:
    'Events that a search finds get the name of the event type in the field eventtype, and its tags.',
  path: '/services/saved/eventtypes',
  isOfApps: true,
  capability: 'edit_own_objects',
  columns: [
    column('Search', 'search', { isCode: true }),
    column('Tags', 'tags'),
    column('Description', 'description'),
  ],
  fields: [
    { name: 'name', label: 'Name', kind: 'text', isRequired: true, when: 'new' },
    {
      name: 'search',
      label: 'Search',
      kind: 'area',
      isRequired: true,
      help: 'Words and field=value; no commands.',
    },
    {
      name: 'tags',
      label: 'Tags',
      kind: 'text',
      help: 'Separated by commas, without blanks.',
      check: tagsProblem,
    },
    {
      name: 'priority',
      label: 'Priority',
      kind: 'number',
      least: 1,
      most: 10,
      help: '1 to 10; 1 comes first.',
    },
    { name: 'description', label: 'Description', kind: 'text' },
  ],
  isCopied: true,
  search: ({ name }) => `index=* eventtype=${quoted(name)}`,
  loss: (entry) => `${SEARCHES}, as eventtype=${entry.name}, find nothing. Events are not changed.`,
};

/** The tags that a stanza of tags.conf gives to its value. */
export function tagsOf(entry: Entry): string[] {
  const enabled = Object.entries(entry.content).filter(([, state]) => state === 'enabled');
  return enabled.map(([tag]) => tag);
}

const split = (text: string) => text.split(',').map((tag) => tag.trim());

/** Tags as settings of their stanza; those that are gone are disabled, as a file may have them. */
export function tagSettings(text: string, before: string[]): Form {
  const now = split(text).filter((tag) => tag !== '');
  const gone = before.filter((tag) => !now.includes(tag));
  return Object.fromEntries([
    ...now.map((tag) => [tag, 'enabled']),
    ...gone.map((tag) => [tag, 'disabled']),
  ]);
}

/**
 * Parameters of every request, which crates/api/src/routes/objects.rs does not store (`REQUEST_PARAMETERS` and
 * `eai:acl`), and a setting of every stanza: they cannot be tags here.
 */
const TAKEN =
  /^(?:name|output_mode|count|offset|search_filter|sort_key|sort_dir|sort_mode|f|eai:acl.*|disabled)$/;

export function valueTagsProblem(text: string): string | null {
  const wrong = split(text).find((tag) => TAKEN.test(tag));
  return wrong === undefined ? tagsProblem(text) : `"${wrong}" can be a tag only in tags.conf`;
}

const VALUE_TAGS: Field = {
  name: 'tags',
  label: 'Tags',
  kind: 'text',
  help: 'Separated by commas, without blanks.',
  read: (entry) => tagsOf(entry).join(', '),
  check: valueTagsProblem,
};

/** A value in the name of a stanza of tags.conf, where special characters are written as `%20` and so on. */
const tagged = (text: string): string =>
  text.trim().replace(/(?:%[0-9a-f]{2})+/gi, (codes) => {
    try {
      return decodeURIComponent(codes);
    } catch {
      return codes;
    }
  });

export const tags: Kind = {
  title: 'Tags',
  noun: 'tag of a value',
  about:
    'Tags of values of fields: a search for tag=TAG finds the events whose field has a value with this tag.',
  path: '/services/configs/conf-tags',
  isOfApps: true,
  capability: 'edit_own_objects',
  isShown: (entry) => entry.name.includes('='),
  columns: [{ label: 'Tags', text: (entry) => tagsOf(entry).join(', ') }],
  fields: [
    {
      name: 'name',
      label: 'Field and value',
      kind: 'text',
      isRequired: true,
      when: 'new',
      help: 'Such as host=web-1.',
      check: (text) => (/^[^=]+=./.test(text) ? null : 'Write FIELD=VALUE'),
    },
    { ...VALUE_TAGS, isRequired: true, when: 'new' },
    { ...VALUE_TAGS, when: 'existing' },
  ],
  request: ({ tags: text, ...rest }, entry, path) => ({
    path,
    form: { ...rest, ...tagSettings(String(text ?? ''), entry ? tagsOf(entry) : []) },
  }),
  search: ({ name }) => {
    const at = name.indexOf('=');
    return `index=* ${fieldName(name.slice(0, at).trim())}=${quoted(tagged(name.slice(at + 1)))}`;
  },
  loss: (entry) => `${SEARCHES} by their tags no longer find events with ${entry.name}.`,
};

export const lookupDefinitions: Kind = {
  title: 'Lookups',
  noun: 'lookup',
  about:
    'A lookup adds fields from a table: a lookup file, a KV store collection or a program. The command lookup and automatic lookups use its name.',
  path: '/services/data/transforms/lookups',
  isOfApps: true,
  capability: 'edit_own_objects',
  columns: [
    {
      label: 'Table',
      text: (entry) =>
        String(
          entry.content.filename || entry.content.collection || entry.content.external_cmd || '',
        ),
    },
    column('Fields', 'fields_list'),
    column('Match', 'match_type'),
  ],
  fields: [
    { name: 'name', label: 'Name', kind: 'text', isRequired: true, when: 'new' },
    {
      name: 'filename',
      label: 'Lookup file',
      kind: 'choice',
      source: 'lookupFiles',
      none: 'no file',
      help: 'One of the lookup files of the app, and of those that other apps share. Upload it first.',
    },
    { name: 'collection', label: 'KV store collection', kind: 'text', help: 'Instead of a file.' },
    {
      name: 'fields_list',
      label: 'Fields',
      kind: 'text',
      help: 'Of a collection, separated by commas.',
    },
    {
      name: 'match_type',
      label: 'Match',
      kind: 'text',
      help: 'Such as WILDCARD(host) or CIDR(ip).',
    },
    { name: 'max_matches', label: 'Most matches', kind: 'number', least: 1 },
    { name: 'min_matches', label: 'Least matches', kind: 'number' },
    {
      name: 'default_match',
      label: 'Value if nothing matches',
      kind: 'text',
      help: 'Needs least matches of 1 or more.',
    },
    {
      name: 'case_sensitive_match',
      label: 'Matching is case-sensitive',
      kind: 'switch',
      initial: true,
      read: isOnByDefault('case_sensitive_match'),
    },
  ],
  // A program stores no rows.
  search: ({ name, content }) => (content.external_cmd ? null : `| inputlookup ${fieldName(name)}`),
  loss: (entry) => `${SEARCHES} fail. The file or collection behind ${entry.name} stays.`,
};

export const sourceTypes: Kind = {
  title: 'Source types',
  noun: 'source type',
  about:
    'How bytes become events: line breaks, timestamps, character set, fields. Changes made here apply only to searches. Add data tries settings of lines and timestamps on a text, and saves a source type that applies to new events.',
  path: '/services/configs/conf-props',
  isOfApps: true,
  capability: 'edit_own_objects',
  isShown: (entry) => !/^(?:host|source|delayedrule|rule)::/.test(entry.name),
  columns: [
    column('Time format', 'TIME_FORMAT', { isCode: true }),
    column('Line breaker', 'LINE_BREAKER', { isCode: true }),
    column('Fields', 'KV_MODE'),
    column('Category', 'category'),
  ],
  fields: [
    { name: 'name', label: 'Name', kind: 'text', isRequired: true, when: 'new' },
    {
      name: 'LINE_BREAKER',
      label: 'LINE_BREAKER',
      kind: 'text',
      help: 'Regular expression between lines; its first group is dropped. Default: ([\\r\\n]+)',
    },
    {
      name: 'SHOULD_LINEMERGE',
      label: 'SHOULD_LINEMERGE',
      kind: 'choice',
      help: 'Whether several lines can form one event.',
      options: [
        { value: '', label: 'default' },
        { value: 'true', label: 'true' },
        { value: 'false', label: 'false' },
      ],
    },
    {
      name: 'BREAK_ONLY_BEFORE',
      label: 'BREAK_ONLY_BEFORE',
      kind: 'text',
      help: 'An event begins at a line that matches.',
    },
    {
      name: 'TIME_PREFIX',
      label: 'TIME_PREFIX',
      kind: 'text',
      help: 'Regular expression before the time.',
    },
    {
      name: 'TIME_FORMAT',
      label: 'TIME_FORMAT',
      kind: 'text',
      help: 'Such as %Y-%m-%d %H:%M:%S.%3N; empty: recognised.',
    },
    {
      name: 'MAX_TIMESTAMP_LOOKAHEAD',
      label: 'MAX_TIMESTAMP_LOOKAHEAD',
      kind: 'number',
      help: 'Characters in which the time is searched.',
    },
    {
      name: 'TZ',
      label: 'TZ',
      kind: 'text',
      help: 'Zone of times without one, such as Europe/Berlin.',
    },
    {
      name: 'TRUNCATE',
      label: 'TRUNCATE',
      kind: 'number',
      help: 'Maximum bytes of a line; 0 for no limit.',
    },
    { name: 'CHARSET', label: 'CHARSET', kind: 'text', help: 'Such as UTF-8 or AUTO.' },
    {
      name: 'KV_MODE',
      label: 'KV_MODE',
      kind: 'choice',
      help: 'Fields that are extracted without a rule.',
      options: ['', 'none', 'auto', 'auto_escaped', 'json', 'xml', 'multi'].map((value) => ({
        value,
        label: value || 'default',
      })),
    },
    { name: 'description', label: 'description', kind: 'text' },
  ],
  search: (entry) => searchOfStanza(entry.name),
  loss: (entry) =>
    `Events of ${entry.name} that arrive later are parsed with the built-in rules. Stored events are not changed, but lack the fields that its rules extract.`,
};

/** The settings of the server in force: `GET /api/v1/settings`. */

import { asObject } from '../api/decode';

export type Source = 'default' | 'built_in' | 'file' | 'flag' | 'rest';

export interface ServerSetting {
  /** The file, without `.conf`. */
  conf: string;
  /** Null for the default of stanzas that repeat, such as those of indexes. */
  stanza: string | null;
  /** The stanzas that may have it, such as `<index>, default`. */
  stanzas: string;
  name: string;
  /** Null if it has none. A secret is asterisks. */
  value: string | null;
  initial: string | null;
  source: Source;
  /** File and line, or the flag and its variable; empty for a default. */
  place: string;
  /** `a whole number of seconds, 1 or more`. */
  type: string;
  unit: string;
  choices: string[];
  about: string;
  /** `restart`, `live`, `none` or `note`. */
  effect: string;
  isSecret: boolean;
}

const text = (value: unknown): string =>
  value === null || value === undefined ? '' : String(value);
const textOrNull = (value: unknown): string | null =>
  value === null || value === undefined ? null : String(value);

export function decodeSettings(body: unknown): ServerSetting[] {
  const { settings } = asObject(body);
  return (Array.isArray(settings) ? settings : []).map((item) => {
    const setting = asObject(item);
    const type = asObject(setting.type);
    return {
      conf: text(setting.conf),
      stanza: textOrNull(setting.stanza),
      stanzas: text(setting.stanzas),
      name: text(setting.name),
      value: textOrNull(setting.value),
      initial: textOrNull(setting.default),
      source: text(setting.source) as Source,
      place: text(setting.place),
      type: text(type.expected),
      unit: text(type.unit),
      choices: Array.isArray(type.choices) ? type.choices.map(String) : [],
      about: text(setting.description).replaceAll('`', ''),
      effect: text(setting.effect),
      isSecret: setting.secret === true,
    };
  });
}

/** Whether somebody has set it: in a file, by a flag or over REST. */
export const isChanged = ({ source }: ServerSetting): boolean =>
  source !== 'default' && source !== 'built_in';

export interface Filter {
  text: string;
  isOnlyChanged: boolean;
}

/** Every word of the filter occurs in the setting. */
export function matching(settings: readonly ServerSetting[], filter: Filter): ServerSetting[] {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  return settings.filter((setting) => {
    if (filter.isOnlyChanged && !isChanged(setting)) return false;
    const { conf, stanza, stanzas, name, value, place, about } = setting;
    const all = `${conf}.conf ${stanza ?? stanzas} ${name} ${value ?? ''} ${place} ${about}`;
    return words.every((word) => all.toLowerCase().includes(word));
  });
}

/** Settings by file, in the order in which they come. */
export function byFile(settings: readonly ServerSetting[]): [string, ServerSetting[]][] {
  const files = new Map<string, ServerSetting[]>();
  for (const setting of settings) {
    const file = files.get(setting.conf);
    if (file) file.push(setting);
    else files.set(setting.conf, [setting]);
  }
  return [...files];
}

/** `[search]`, or the stanzas that a default is of. */
export const stanzaLabel = ({ stanza, stanzas }: ServerSetting): string =>
  stanza === null ? (stanzas === '' ? 'any stanza' : `each of ${stanzas}`) : `[${stanza}]`;

const SOURCES: Record<Source, string> = {
  default: 'default',
  built_in: 'built in',
  file: 'file',
  flag: 'flag',
  rest: 'REST',
};

export function sourceText({ source, place }: ServerSetting): string {
  if (source === 'default' || place === '') return SOURCES[source] ?? source;
  return source === 'rest' ? 'changed here' : place;
}

/** When a change takes effect. */
export function effectText({ effect, conf, source }: ServerSetting): string {
  // An input that REST has made began at once. Those of files are read at the start.
  if (source === 'rest' && conf === 'inputs') return 'immediately, over REST';
  if (effect === 'restart') return 'after a restart';
  if (effect === 'live') return 'immediately, over REST';
  return 'never';
}

/** Where a setting is changed over REST, by file, stanza and name. */
const LIVE_PATHS: Record<string, string> = {
  'server/general/sessionTimeout': '/services/server/settings/settings',
};

export const livePath = ({ conf, stanza, name }: ServerSetting): string | null =>
  LIVE_PATHS[`${conf}/${stanza}/${name}`] ?? null;

/** The lines for the file that change it. A pattern stands for a name that the reader chooses. */
export function confLines({ stanza, stanzas, name }: ServerSetting, value: string): string {
  const [first = ''] = stanzas.split(', ');
  return `[${stanza ?? (first || 'NAME')}]\n${name} = ${value.replaceAll('\n', '\\\n')}`.trimEnd();
}

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
  /** `boolean`, `number`, `decimal`, `size`, `span`, `choice`, `list`, `regex`, `text`, `secret` or `form`. */
  kind: string;
  unit: string;
  /** Bounds of a number. */
  least: number | null;
  most: number | null;
  choices: string[];
  about: string;
  /** `restart`, `stored`, `live`, `none` or `note`. */
  effect: string;
  isSecret: boolean;
  /** The path to which a new value is sent; null if REST cannot change it. */
  change: string | null;
  /** Whether a value from REST is stored: an empty value removes it. */
  isStored: boolean;
  /** The value of the next start if it differs; empty for none. */
  pending: string | null;
}

const text = (value: unknown): string =>
  value === null || value === undefined ? '' : String(value);
const textOrNull = (value: unknown): string | null =>
  value === null || value === undefined ? null : String(value);

const numberOrNull = (value: unknown): number | null => (typeof value === 'number' ? value : null);

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
      kind: text(type.kind),
      unit: text(type.unit),
      least: numberOrNull(type.least),
      most: numberOrNull(type.most),
      choices: Array.isArray(type.choices) ? type.choices.map(String) : [],
      about: text(setting.description).replaceAll('`', ''),
      effect: text(setting.effect),
      isSecret: setting.secret === true,
      change: textOrNull(setting.change),
      isStored: setting.stored === true,
      pending: textOrNull(setting.pending),
    };
  });
}

/** Whether somebody has set it: in a file, by a flag or over REST. */
export const isChanged = ({ source, isStored }: ServerSetting): boolean =>
  isStored || (source !== 'default' && source !== 'built_in');

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
  if (effect === 'restart' || effect === 'stored') return 'after a restart';
  if (effect === 'live') return 'immediately, over REST';
  return 'never';
}

/** The capability that a change over REST requires. */
const capabilityOf = ({ change }: ServerSetting): string =>
  change?.startsWith('/services/configs/') ? 'admin_all_objects' : 'edit_server';

/** Whether a user with these capabilities can change it over REST. */
export const mayChange = (setting: ServerSetting, capabilities: ReadonlySet<string>): boolean =>
  setting.change !== null && capabilities.has(capabilityOf(setting));

/** Why it cannot be changed here. */
export function refusalOf(setting: ServerSetting): string {
  const { source, place, change } = setting;
  if (source === 'flag') return `It is set by ${place}, which has precedence over files and REST.`;
  if (change === null) return 'It is read from files only.';
  return `A change here requires the capability ${capabilityOf(setting)}.`;
}

/** Why a value does not fit the type; null if the server decides. */
export function valueProblem(setting: ServerSetting, value: string): string | null {
  const { kind, least, most, type } = setting;
  const given = value.trim();
  if (given === '') return 'A value is required. To remove the value that is stored, use Reset.';
  if (kind !== 'number' && kind !== 'decimal') return null;
  const isNumber = kind === 'number' ? /^[+-]?\d+$/.test(given) : Number.isFinite(Number(given));
  const number = Number(given);
  const fits = isNumber && (least === null || number >= least) && (most === null || number <= most);
  return fits ? null : `Expected: ${type}.`;
}

/** The values to choose from; none for a text field. */
export const choicesOf = ({ kind, choices }: ServerSetting): readonly string[] =>
  kind === 'boolean' ? ['true', 'false'] : choices;

/** The lines for the file that change it. A pattern stands for a name that the reader chooses. */
export function confLines({ stanza, stanzas, name }: ServerSetting, value: string): string {
  const [first = ''] = stanzas.split(', ');
  return `[${stanza ?? (first || 'NAME')}]\n${name} = ${value.replaceAll('\n', '\\\n')}`.trimEnd();
}

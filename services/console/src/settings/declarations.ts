/**
 * The settings of each `.conf` file: key, values, default, meaning. They are read from the pages of `docs/conf`,
 * which are written from the declarations in the code, so there is no second list.
 */

export interface Setting {
  key: string;
  /** Its values in words: `a whole number of seconds, 1 or more`. */
  type: string;
  /** Empty for none. */
  initial: string;
  about: string;
  /** Whether a change over REST counts at once, without a restart. */
  isLive: boolean;
}

export interface Stanza {
  /** Without the outer brackets; `<index>` stands for any name. Several are `a], [b`. */
  name: string;
  settings: Setting[];
}

export interface ConfFile {
  name: string;
  stanzas: Stanza[];
  /** Settings of Splunk that are accepted and do nothing. */
  withoutEffect: string[];
}

const PAGES = import.meta.glob<string>('../../../../docs/conf/*.md', {
  query: '?raw',
  import: 'default',
});

const nameOf = (path: string) => /([^/]+)\.md$/.exec(path)?.[1] ?? '';

export const CONF_FILES: readonly string[] = Object.keys(PAGES)
  .map(nameOf)
  .filter((name) => name !== 'README')
  .sort();

/** The declarations of a file; null for one that has none. */
export async function loadConfFile(name: string): Promise<ConfFile | null> {
  const load = PAGES[Object.keys(PAGES).find((path) => nameOf(path) === name) ?? ''];
  return load && CONF_FILES.includes(name) ? readConfPage(name, await load()) : null;
}

/** Settings that every stanza of a file may have. */
const ANY = '<any stanza>';

const plain = (text: string) =>
  text.replaceAll('`', '').replaceAll('&lt;', '<').replaceAll('\\|', '|').trim();

/** Cells of a row of a table; `\|` is a sign within a cell. */
const cells = (line: string) =>
  line
    .split(/(?<!\\)\|/)
    .slice(1, -1)
    .map((cell) => cell.trim());

export function readConfPage(name: string, text: string): ConfFile {
  const file: ConfFile = { name, stanzas: [], withoutEffect: [] };
  let stanza: Stanza | null = null;
  let isUnused = false;
  for (const line of text.split('\n')) {
    const heading = /^## (.*)$/.exec(line)?.[1];
    if (heading !== undefined) {
      isUnused = heading === 'Without effect';
      const found = heading === 'All stanzas' ? ANY : /`\[(.*)\]`/.exec(heading)?.[1];
      stanza = found === undefined ? null : { name: plain(found), settings: [] };
      if (stanza) file.stanzas.push(stanza);
    } else if (isUnused) {
      for (const [, key = ''] of line.matchAll(/`([^`]+)`/g)) file.withoutEffect.push(key);
    } else if (stanza && line.startsWith('| `')) {
      const [key = '', type = '', initial = '', about = ''] = cells(line);
      stanza.settings.push({
        key: /`([^`]+)`/.exec(key)?.[1] ?? '',
        type: plain(type),
        initial: plain(initial),
        about: plain(about),
        isLive: key.includes('(live)'),
      });
    }
  }
  return file;
}

export const isPattern = (stanza: Stanza): boolean => stanza.name.includes('<');

/** The lines that change a setting; of several kinds of stanzas, the first. */
export const confLines = (stanza: Stanza, setting: Setting, value: string): string =>
  `[${stanza.name.split(']')[0]}]\n${setting.key} = ${value}\n`;

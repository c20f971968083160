import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { decodeAppReport } from './appReport';
import { csvRows } from './csv';
import { CONF_FILES, confLines, loadConfFile, readConfPage } from './declarations';

const DOCS = '../../docs/conf';

it('every page of settings is read, with every row of its tables', async () => {
  const pages = readdirSync(DOCS).filter((name) => name !== 'README.md');
  expect(CONF_FILES.map((name) => `${name}.md`)).toEqual(pages.sort());
  for (const page of pages) {
    const rows = readFileSync(`${DOCS}/${page}`, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('| `'));
    const file = await loadConfFile(page.replace('.md', ''));
    const settings = (file?.stanzas ?? []).flatMap((stanza) => stanza.settings);
    expect(settings, page).toHaveLength(rows.length);
    for (const setting of settings) expect(setting.about, setting.key).not.toBe('');
  }
});

it('a setting has its type, default and whether it counts at once', () => {
  const file = readConfPage(
    'x',
    '## `[<index>]`\n\n| setting | value | default | what it does |\n| --- | --- | --- | --- |\n| `a` (live) | `b`, or &lt;c> | `1\\|2` | Does it. |\n\n## Without effect\n\nMore:\n\n`d`, `e.f`\n',
  );
  expect(file).toEqual({
    name: 'x',
    stanzas: [
      {
        name: '<index>',
        settings: [
          { key: 'a', type: 'b, or <c>', initial: '1|2', about: 'Does it.', isLive: true },
        ],
      },
    ],
    withoutEffect: ['d', 'e.f'],
  });
  const [stanza] = file.stanzas;
  if (stanza?.settings[0])
    expect(confLines(stanza, stanza.settings[0], '3')).toBe('[<index>]\na = 3\n');
});

it('there are no settings of a file that is not declared', async () => {
  expect(await loadConfFile('README')).toBeNull();
  expect(await loadConfFile('../secret')).toBeNull();
});

it('quoted cells of a CSV hold commas, quotes and line breaks', () => {
  expect(csvRows('a,b\r\n"1,2","x ""y""\nz"\n\n,last')).toEqual([
    ['a', 'b'],
    ['1,2', 'x "y"\nz'],
    ['', 'last'],
  ]);
});

it('the report of an app names what is not used, with its place', () => {
  const report = decodeAppReport({
    entry: [
      {
        name: 'gallery',
        content: {
          files: 12,
          used: [
            ['app', 2],
            ['savedsearches', 1],
          ],
          ignored: [],
          not_used: [{ place: 'default/x.xml:10', text: 'scripts are left out' }],
          gains: [{ place: 'views', text: '6' }],
        },
      },
    ],
  });
  expect(report).toEqual({
    app: 'gallery',
    files: 12,
    used: 'app.conf 2, savedsearches.conf 1',
    gains: [{ place: 'views', text: '6' }],
    notUsed: [{ place: 'default/x.xml:10', text: 'scripts are left out' }],
    ignored: [],
  });
});

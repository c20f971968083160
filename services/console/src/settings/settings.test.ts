import { expect, it } from 'vitest';
import type { Entry } from '../api/types';
import { fieldsOf, problemsOf } from '../objects/form';
import { defaultsProblem } from './accessKinds';
import { decodeAppReport, messageText } from './appReport';
import { csvRows } from './csv';
import { tagSettings, tags, tagsOf, tagsProblem, valueTagsProblem } from './knowledgeKinds';
import {
  byFile,
  choicesOf,
  confLines,
  decodeSettings,
  effectText,
  isChanged,
  matching,
  mayChange,
  refusalOf,
  type ServerSetting,
  sourceText,
  stanzaLabel,
  valueProblem,
} from './serverSettings';

const setting = (more: Record<string, unknown>) =>
  decodeSettings({
    settings: [
      {
        conf: 'limits',
        stanza: 'search',
        stanzas: 'search',
        name: 'max_mem_usage_mb',
        value: '300',
        default: '512',
        source: 'file',
        place: 'system/local/limits.conf:2',
        type: { kind: 'number', unit: 'megabytes', expected: 'a whole number of MB' },
        description: 'Memory of `stats`.',
        effect: 'restart',
        secret: false,
        ...more,
      },
    ],
  })[0] as ServerSetting;

it('a setting says where its value comes from, and when a change takes effect', () => {
  const changed = setting({});
  expect(changed).toMatchObject({ unit: 'megabytes', about: 'Memory of stats.', initial: '512' });
  expect([sourceText(changed), effectText(changed), isChanged(changed)]).toEqual([
    'system/local/limits.conf:2',
    'after a restart',
    true,
  ]);
  expect(sourceText(setting({ source: 'default', place: null }))).toBe('default');
  expect(sourceText(setting({ source: 'rest', place: '/services/x' }))).toBe('changed here');
  expect(isChanged(setting({ source: 'built_in' }))).toBe(false);
  const inputs = { conf: 'inputs', stanza: 'tcp://31140', name: 'sourcetype' };
  expect(effectText(setting({ ...inputs, source: 'rest' }))).toBe('immediately, over REST');
  expect(effectText(setting(inputs))).toBe('after a restart');
});

it('a default of stanzas that repeat says of which', () => {
  const repeated = { stanza: null, stanzas: '<index>, default' };
  expect(stanzaLabel(setting(repeated))).toBe('each of <index>, default');
  expect(stanzaLabel(setting({ stanza: null, stanzas: '' }))).toBe('any stanza');
  expect(confLines(setting(repeated), '9')).toBe('[<index>]\nmax_mem_usage_mb = 9');
  expect(confLines(setting({}), '9')).toBe('[search]\nmax_mem_usage_mb = 9');
});

it('the filter takes words of any part, and only changed settings on demand', () => {
  const all = [
    setting({}),
    setting({ name: 'maxout', stanza: 'subsearch', source: 'default', description: 'Rows.' }),
    setting({ conf: 'server', name: 'x', source: 'flag', place: '--x' }),
  ];
  const names = (text: string, isOnlyChanged = false) =>
    matching(all, { text, isOnlyChanged }).map(({ name }) => name);
  expect(names('')).toHaveLength(3);
  expect(names('LIMITS rows')).toEqual(['maxout']);
  expect(names('', true)).toEqual(['max_mem_usage_mb', 'x']);
  expect(byFile(all).map(([file, list]) => [file, list.length])).toEqual([
    ['limits', 2],
    ['server', 1],
  ]);
});

it('a setting with a path is changed by users with the capability', () => {
  const limit = setting({ change: '/services/configs/conf-limits/search', effect: 'stored' });
  const timeout = setting({ change: '/services/server/settings/settings', effect: 'live' });
  const file = setting({});
  const of = (...capabilities: string[]) =>
    [limit, timeout, file].map((one) => mayChange(one, new Set(capabilities)));
  expect(of('admin_all_objects')).toEqual([true, false, false]);
  expect(of('edit_server')).toEqual([false, true, false]);
  expect(effectText(limit)).toBe('after a restart');
  expect(refusalOf(limit)).toContain('admin_all_objects');
  expect(refusalOf(file)).toContain('files only');
  const flag = { source: 'flag', place: '--memory-limit (KARST_MEMORY_LIMIT)' };
  expect(refusalOf(setting(flag))).toContain('KARST_MEMORY_LIMIT');
});

it('a stored value counts as changed before the restart that puts it in force', () => {
  const pending = setting({ source: 'default', place: null, stored: true, pending: '600' });
  expect([isChanged(pending), pending.pending]).toEqual([true, '600']);
  expect(setting({}).pending).toBeNull();
});

it('values have to fit the type', () => {
  const bytes = { kind: 'number', least: 1, most: 10, expected: 'a whole number from 1 to 10' };
  const share = { kind: 'decimal', least: 0, most: 1, expected: 'a number above 0 and below 1' };
  const problem = (type: object, value: string) => valueProblem(setting({ type }), value);
  expect(['1', ' 10 ', '+2'].map((value) => problem(bytes, value))).toEqual([null, null, null]);
  for (const value of ['0', '11', '1.5', 'x', '1e1', '0x1']) {
    expect(problem(bytes, value)).toBe('Expected: a whole number from 1 to 10.');
  }
  expect(problem(share, '0.25')).toBeNull();
  expect(problem(share, 'half')).toContain('above 0');
  expect(problem({ kind: 'size', least: 9 }, '16MB')).toBeNull();
  expect(problem({ kind: 'size' }, ' ')).toContain('Reset');
  expect(choicesOf(setting({ type: { kind: 'boolean' } }))).toEqual(['true', 'false']);
  expect(choicesOf(setting({ type: { kind: 'choice', choices: ['a'] } }))).toEqual(['a']);
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
    notes: [],
  });
});

it('the report of an app has its mistakes and notes, each with its place', () => {
  const ignored = [
    'gallery/default/props.conf:7: EXTRACT-a: unclosed group\nnear (',
    '[monitor:///var/log]: the setting x is invalid',
  ];
  const notes = ['gallery/default/inputs.conf:2: a comment behind a value'];
  const report = decodeAppReport({ entry: [{ name: 'gallery', content: { ignored, notes } }] });
  expect(report.ignored).toEqual([
    { place: 'gallery/default/props.conf:7', text: 'EXTRACT-a: unclosed group\nnear (' },
    { place: '', text: '[monitor:///var/log]: the setting x is invalid' },
  ]);
  expect(report.notes).toEqual([
    { place: 'gallery/default/inputs.conf:2', text: 'a comment behind a value' },
  ]);
  expect(report.ignored.map(messageText)).toEqual(ignored);
});

it('default indexes of a role are among those that it may search', () => {
  const problem = (text: string, srchIndexesAllowed: string, more = {}) =>
    defaultsProblem(text, { srchIndexesAllowed, ...more });
  expect(problem('main, web-2', 'main, web*')).toBeNull();
  expect(problem('web*', '*')).toBeNull();
  expect(problem('web*', 'web_prod')).toBeNull();
  expect(problem('*', '_internal')).toContain('*');
  expect(problem('main, other', 'main')).toContain('may be searched: other');
  expect(problem('_internal', '*')).toContain('_internal');
  expect(problem('_internal', '_*')).toBeNull();
  expect(problem('main', '')).toContain('main');
  // The imported role may permit it.
  expect(problem('other', 'main', { imported_roles: ['user'] })).toBeNull();
});

it('tags have no blanks', () => {
  expect(['', 'error', 'error, web,shop'].map(tagsProblem)).toEqual([null, null, null]);
  expect(tagsProblem('error, web shop')).toBe('"web shop" has a blank: separate tags by commas');
});

it('a new stanza of tags needs a tag, and an existing one may lose all', () => {
  const ofNew = fieldsOf(tags.fields, null, null);
  const named = { name: 'host=a', tags: '' };
  expect([...problemsOf(ofNew, named, null).keys()]).toEqual(['tags']);
  const entry = { name: 'host=a', content: { web: 'enabled' } } as unknown as Entry;
  const ofExisting = fieldsOf(tags.fields, null, entry);
  expect(problemsOf(ofExisting, { tags: '' }, { tags: 'web' }).size).toBe(0);
});

it('parameters of requests cannot be tags of values', () => {
  expect(['count', 'eai:acl.owner', 'disabled'].map(valueTagsProblem)).not.toContain(null);
  expect(['counts', 'eai', 'web, shop'].map(valueTagsProblem)).toEqual([null, null, null]);
});

it('tags of a value are the enabled settings of its stanza, and removed ones are disabled', () => {
  const content = { web: 'enabled', old: 'disabled', disabled: false, 'eai:appName': 'search' };
  const entry = { name: 'host=a', content } as unknown as Parameters<typeof tagsOf>[0];
  expect(tagsOf(entry)).toEqual(['web']);
  expect(tagSettings('shop, db,', ['web', 'db'])).toEqual({
    shop: 'enabled',
    db: 'enabled',
    web: 'disabled',
  });
});

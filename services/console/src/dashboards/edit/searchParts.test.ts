import { expect, it } from 'vitest';
import { readDashboard } from '../model/reader';
import {
  basesFor,
  pageSearchesOf,
  readSearchParts,
  searchOf,
  usersOf,
  withBase,
  withId,
  withoutBase,
  withPageSearch,
} from './searchParts';
import { elementAt, sourceOf } from './source';

const VIEW = `<form>
  <label>A</label>
  <search id="all">
    <query>index=a</query>
    <earliest>-1h</earliest>
  </search>
  <search id="hosts" base="all"><query>stats count by host</query></search>
  <fieldset/>
  <row>
    <panel>
      <table><search base="hosts"><query>| where count &gt; 3</query></search></table>
      <chart>
        <search>
          <query><![CDATA[index=b | where n<3 | timechart count]]></query>
          <earliest>-4h</earliest>
          <latest>now</latest>
        </search>
      </chart>
      <single><searchString>index=c | stats count</searchString></single>
    </panel>
  </row>
</form>
`;
const at = (tag: string) => VIEW.indexOf(tag);
const searchAt = (text: string, element: number) =>
  readDashboard(text).rows[0]?.panels[0]?.elements[element]?.search;

it('a search may be computed from any that is not computed from it', () => {
  const source = sourceOf(VIEW);
  const [all, hosts] = pageSearchesOf(source);
  expect(basesFor(source, all ?? null)).toEqual([]);
  expect(basesFor(source, hosts ?? null)).toEqual(['all']);
  const table = elementAt(source, at('<table'));
  expect(table && basesFor(source, searchOf(table))).toEqual(['all', 'hosts']);
  // The last one without a name, too.
  for (const tag of ['<chart', '<single']) {
    const element = elementAt(source, at(tag));
    expect(element && basesFor(source, searchOf(element))).toEqual(['all', 'hosts']);
  }
  const named = VIEW.replace('<chart>\n        <search>', '<chart>\n        <search id="b">');
  const chart = elementAt(sourceOf(named), named.indexOf('<chart'));
  expect(chart && basesFor(sourceOf(named), searchOf(chart))).toEqual(['all', 'hosts']);
  expect(all && usersOf(source, all)).toHaveLength(1);
  expect(hosts && readSearchParts(hosts)).toMatchObject({ kind: 'base', base: 'all' });
});

it('a search of its own becomes one that is computed from another, and back', () => {
  const based = withBase(VIEW, at('<chart'), 'all');
  expect(searchAt(based, 1)).toMatchObject({
    source: { kind: 'base', base: 'all', query: 'where n<3 | timechart count' },
    earliest: null,
    latest: null,
  });
  expect(based).toContain('<![CDATA[where n<3 | timechart count]]>');
  const own = withoutBase(based, at('<chart'));
  expect(searchAt(own, 1)).toMatchObject({
    source: { kind: 'query', query: 'index=a | where n<3 | timechart count' },
    earliest: '-1h',
  });
  // Of a chain, one step.
  expect(searchAt(withoutBase(VIEW, at('<table')), 0)?.source).toEqual({
    kind: 'base',
    base: 'all',
    query: 'stats count by host | where count > 3',
  });
  expect(searchAt(withBase(VIEW, at('<single'), 'all'), 2)?.source).toEqual({
    kind: 'base',
    base: 'all',
    query: 'stats count',
  });
});

it('a search of the page is added in front of the inputs, and named with those that use it', () => {
  const added = withPageSearch(VIEW);
  expect(readDashboard(added).searches.map(({ id }) => id)).toEqual(['all', 'hosts', 'base']);
  expect(added.indexOf('"base"')).toBeLessThan(added.indexOf('<fieldset'));
  const named = withId(VIEW, at('<search id="hosts"'), 'machines');
  expect(named).toBe(VIEW.replaceAll('"hosts"', '"machines"'));
  expect(withId(VIEW, at('<search id="hosts"'), ' ')).toBe(VIEW);
});

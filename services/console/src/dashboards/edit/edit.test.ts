import { describe, expect, it } from 'vitest';
import { readDashboard } from '../model/reader';
import { readChoices, writeChoices, writeDefaultRange } from './choices';
import { FIELDS, inputFields, PANEL, writeField } from './fields';
import {
  panelXml,
  targetOf,
  withCopy,
  withInput,
  withInputMoved,
  withKind,
  withoutPanel,
  withPanel,
  withPanelMoved,
} from './operations';
import { inputsOf, rowsOf } from './outline';
import { rekeyed } from './rekeyed';
import { readSearchParts, writeQuery, writeRange } from './searchParts';
import { elementAt, sourceOf } from './source';

const VIEW = `<form version="1.1">
  <label>Web</label>
  <!-- of the team -->
  <fieldset submitButton="false">
    <input type="text" token="a"/>
    <input type="dropdown" token="b">
      <label>B</label>
      <choice value="x">X</choice>
    </input>
  </fieldset>
  <row>
    <panel id="one">
      <chart>
        <title>One</title>
        <search><query><![CDATA[index=a | where n<3]]></query></search>
        <option name="charting.chart">line</option> <!-- why -->
        <option name="charting.axisTitleY.text">n</option>
        <unknown x='1'/>
        <drilldown><set token="t">$click.value$</set></drilldown>
      </chart>
    </panel>
    <panel><table><search base="b"><query>
stats count
   by host</query></search></table></panel>
  </row>
  <row depends="$t$">
    <html><p>As <b>typed</b></p></html>
  </row>
</form>
`;

const places = (text: string) =>
  rowsOf(sourceOf(text)).map(({ panels }) => panels.map((panel) => panel.start));
const panelAt = (text: string, row: number, panel: number) => places(text)[row]?.[panel] ?? -1;
const elementOf = (text: string, row: number, panel: number) =>
  readDashboard(text).rows[row]?.panels[panel]?.elements[0]?.place[0] ?? -1;
/** The rows as the first words of their panels. */
const shape = (text: string) =>
  rowsOf(sourceOf(text)).map(({ panels }) =>
    panels.map((one) => text.slice(one.start, one.end).replace(/\s+/g, ' ').slice(0, 22)),
  );
/** Lines that are not in both. */
function changes(before: string, after: string): string[] {
  const [old, now] = [before.split('\n'), after.split('\n')];
  return [
    ...old.filter((line) => !now.includes(line)).map((line) => `-${line.trim()}`),
    ...now.filter((line) => !old.includes(line)).map((line) => `+${line.trim()}`),
  ];
}

describe('fields', () => {
  const chart = elementOf(VIEW, 0, 0);
  const field = (kind: string, label: string) => {
    const found = FIELDS[kind]?.find((one) => one.label === label);
    if (!found) throw new Error(label);
    return found;
  };

  it('changes one line, and leaves comments and unknown parts', () => {
    const text = writeField(VIEW, chart, field('chart', 'Chart'), 'area');
    expect(changes(VIEW, text)).toEqual([
      '-<option name="charting.chart">line</option> <!-- why -->',
      '+<option name="charting.chart">area</option> <!-- why -->',
    ]);
  });

  it('removes what is usual, and writes it again where it was', () => {
    const text = writeField(VIEW, chart, field('chart', 'Chart'), 'column');
    expect(text).not.toContain('charting.chart"');
    const again = writeField(text, chart, field('chart', 'Legend'), 'none');
    expect(again).toContain(
      'n</option>\n        <option name="charting.legend.placement">none</option>\n        <unknown',
    );
  });

  it('sets an attribute of a panel, escaped, and a title in front of the rest', () => {
    const [title, shown] = PANEL;
    if (!title || !shown) throw new Error('two fields');
    const place = panelAt(VIEW, 0, 0);
    const text = writeField(writeField(VIEW, place, title, 'a < b & "c"'), place, shown, '$x$');
    expect(text).toContain(
      '<panel depends="$x$" id="one">\n      <title>a &lt; b &amp; "c"</title>\n      <chart>',
    );
    expect(readDashboard(text).rows[0]?.panels[0]?.title).toBe('a < b & "c"');
  });

  it('keeps CDATA and escapes elsewhere', () => {
    const cdata = writeQuery(VIEW, chart, 'index=b | where n<4');
    expect(cdata).toContain('<![CDATA[index=b | where n<4]]>');
    const table = elementOf(VIEW, 0, 1);
    const plain = writeQuery(VIEW, table, 'where a<"b" & c');
    expect(plain).toContain('<query>where a&lt;"b" &amp; c</query>');
    expect(writeQuery(VIEW, table, 'stats count\n   by host')).toBe(VIEW);
  });

  it('reads what a search is, and writes its range', () => {
    const table = sourceOf(VIEW);
    const element = elementAt(table, elementOf(VIEW, 0, 1));
    expect(element && readSearchParts(element)).toMatchObject({ kind: 'base', base: 'b' });
    const text = writeRange(VIEW, chart, '-1h', 'now');
    expect(readDashboard(text).rows[0]?.panels[0]?.elements[0]?.search).toMatchObject({
      earliest: '-1h',
      latest: 'now',
    });
    expect(
      readDashboard(writeRange(text, chart, '', '')).rows[0]?.panels[0]?.elements[0]?.search,
    ).toMatchObject({ earliest: null, latest: null });
  });

  it('gives a search to an element of before version 6.2 where it stands', () => {
    const old = '<dashboard><row><table><searchString>a</searchString></table></row></dashboard>';
    const place = old.indexOf('<table');
    expect(writeQuery(old, place, 'b')).toContain('<searchString>b</searchString>');
    const none = '<dashboard><row><panel><table/></panel></row></dashboard>';
    const text = writeQuery(none, none.indexOf('<table'), 'index=x');
    expect(readDashboard(text).rows[0]?.panels[0]?.elements[0]?.search?.source).toEqual({
      kind: 'query',
      query: 'index=x',
    });
  });
});

describe('panels', () => {
  const added = panelXml({
    kind: 'single',
    title: 'A & B',
    search: 'a<b',
    earliest: '$span.earliest$',
    latest: '$span.latest$',
  });

  it('are added to a row and in a row of their own', () => {
    const inRow = withPanel(VIEW, added, { row: 0 });
    expect(shape(inRow)[0]).toHaveLength(3);
    expect(inRow).toContain('\n    <panel>\n      <single>\n        <title>A &amp; B</title>');
    const own = withPanel(VIEW, added, { newRow: 1 });
    expect(shape(own).map((row) => row.length)).toEqual([2, 1, 1]);
    const last = withPanel(VIEW, added, {});
    expect(shape(last).map((row) => row.length)).toEqual([2, 1, 1]);
    expect(last.startsWith(VIEW.slice(0, VIEW.lastIndexOf('\n</form>')))).toBe(true);
    const empty = withPanel('<dashboard/>', added, {});
    expect(readDashboard(empty).rows).toHaveLength(1);
  });

  it('move as they are written, and an empty row goes', () => {
    const first = panelAt(VIEW, 0, 0);
    const second = panelAt(VIEW, 0, 1);
    const rows = rowsOf(sourceOf(VIEW));
    const right = targetOf(rows, { row: 0, panel: 0 }, 'right');
    expect(right).toEqual({ row: 0, index: 2 });
    const swapped = withPanelMoved(VIEW, first, { row: 0, index: 2 });
    expect(shape(swapped)[0]).toEqual([shape(VIEW)[0]?.[1], shape(VIEW)[0]?.[0]]);
    expect(changes(VIEW, swapped)).toEqual([]);
    expect(withPanelMoved(swapped, panelAt(swapped, 0, 1), { row: 0, index: 0 })).toBe(VIEW);
    const down = withPanelMoved(VIEW, second, { newRow: 2 });
    expect(shape(down).map((row) => row.length)).toEqual([1, 1, 1]);
    const up = withPanelMoved(VIEW, second, { newRow: 0 });
    expect(shape(up).map((row) => row.length)).toEqual([1, 1, 1]);
    expect(shape(up)[0]?.[0]).toContain('<panel><table>');
    expect(up).toContain('\nstats count\n   by host<');
    // The only one of a row takes its row along.
    const joined = withPanelMoved(VIEW, panelAt(VIEW, 1, 0), { row: 0, index: 2 });
    expect(shape(joined).map((row) => row.length)).toEqual([3]);
  });

  it('stop at the edges', () => {
    const rows = rowsOf(sourceOf(VIEW));
    expect(targetOf(rows, { row: 0, panel: 0 }, 'left')).toBeNull();
    expect(targetOf(rows, { row: 0, panel: 1 }, 'right')).toBeNull();
    expect(targetOf(rows, { row: 1, panel: 0 }, 'down')).toBeNull();
    expect(targetOf(rows, { row: 1, panel: 0 }, 'up')).toEqual({ row: 0, index: 2 });
    expect(targetOf(rows, { row: 0, panel: 0 }, 'up')).toEqual({ newRow: 0 });
  });

  it('are removed, copied without their ids, and become another kind', () => {
    const without = withoutPanel(VIEW, panelAt(VIEW, 1, 0));
    expect(shape(without)).toHaveLength(1);
    expect(without).toBe(VIEW.replace(/ {2}<row depends[\s\S]*?<\/row>\n/, ''));
    const copied = withCopy(VIEW, panelAt(VIEW, 0, 0));
    expect(shape(copied)[0]).toHaveLength(3);
    expect(copied.match(/id="one"/g)).toHaveLength(1);
    const table = withKind(VIEW, elementOf(VIEW, 0, 0), 'table');
    expect(readDashboard(table).rows[0]?.panels[0]?.elements[0]?.kind).toBe('table');
    expect(table).toContain("<unknown x='1'/>");
  });

  it('keep the line ends of the file', () => {
    const text = withPanel(VIEW.replaceAll('\n', '\r\n'), added, { row: 0 });
    expect(text.replaceAll('\r\n', '')).not.toContain('\n');
  });
});

describe('inputs', () => {
  it('make a form of a dashboard', () => {
    const text = withInput('<dashboard>\n  <label>A</label>\n  <row/>\n</dashboard>\n', 'dropdown');
    const read = readDashboard(text);
    expect(read.isForm).toBe(true);
    expect(read.inputs[0]).toMatchObject({ kind: 'dropdown', token: 'field', default: ['*'] });
    expect(text.indexOf('<fieldset')).toBeLessThan(text.indexOf('<row'));
    const more = withInput(text, 'dropdown');
    expect(readDashboard(more).inputs.map((input) => input.token)).toEqual(['field', 'field2']);
  });

  it('move among each other', () => {
    const inputs = inputsOf(sourceOf(VIEW));
    const text = withInputMoved(VIEW, inputs[0]?.start ?? -1, 1);
    expect(readDashboard(text).inputs.map((input) => input.token)).toEqual(['b', 'a']);
    expect(withInputMoved(text, inputsOf(sourceOf(text))[1]?.start ?? -1, -1)).toBe(VIEW);
  });

  it('have choices, blanks that count, and a default range', () => {
    const place = inputsOf(sourceOf(VIEW))[1]?.start ?? -1;
    const choices = [
      { value: 'x', label: 'X' },
      { value: '"y"', label: 'Y & Z' },
    ];
    const text = writeChoices(VIEW, place, choices);
    const input = elementAt(sourceOf(text), place);
    expect(input && readChoices(input)).toEqual(choices);
    expect(writeChoices(text, place, choices.slice(0, 1))).toBe(VIEW);
    const delimiter = inputFields('multiselect').find((one) => one.label === 'Between values');
    if (!delimiter) throw new Error('there is one');
    const spaced = writeField(VIEW, place, delimiter, ' OR ');
    expect(readDashboard(spaced).inputs[1]?.delimiter).toBe(' OR ');
    const named =
      '<form><input type="time" token="t"><default>Last 24 hours</default></input></form>';
    const ranged = writeDefaultRange(named, 6, '-1h', 'now');
    expect(readDashboard(ranged).inputs[0]?.default).toEqual(['-1h', 'now']);
    const bare = '<form><input type="time" token="t"/></form>';
    expect(readDashboard(writeDefaultRange(bare, 6, '-1h', '')).inputs[0]?.default).toEqual([
      '-1h',
      '',
    ]);
  });
});

it('a version keeps the keys of what has not changed', () => {
  const before = { text: VIEW, dashboard: readDashboard(VIEW) };
  const keysOf = (dashboard: typeof before.dashboard) =>
    dashboard.rows.map(({ panels }) =>
      panels.map((panel) => panel.elements[0]?.search?.key ?? '-'),
    );
  const [[one, two]] = keysOf(before.dashboard) as [[string, string]];
  const moved = withPanelMoved(VIEW, panelAt(VIEW, 0, 0), { row: 0, index: 2 });
  const next = rekeyed({ text: moved, dashboard: readDashboard(moved) }, before, 1);
  expect(keysOf(next)[0]).toEqual([two, one]);
  const xml = '<panel><table><search><query>x</query></search></table></panel>';
  const more = withPanel(VIEW, xml, { newRow: 0 });
  const grown = rekeyed({ text: more, dashboard: readDashboard(more) }, before, 2);
  expect(keysOf(grown)[1]).toEqual([one, two]);
  expect(keysOf(grown)[0]?.[0]).toMatch(/^v2-/);
});

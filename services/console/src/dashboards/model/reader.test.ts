import { expect, it } from 'vitest';
import { readNavigationText } from './navigation';
import { allSearches, readDashboard } from './reader';
import {
  colorOf,
  colorsOf,
  fieldList,
  flag,
  listOf,
  pairsOf,
  secondsOf,
  tokenList,
} from './values';
import { parseXml, XmlError } from './xml';

const element = (xml: string) => {
  const found = readDashboard(`<dashboard><row><panel>${xml}</panel></row></dashboard>`);
  const first = found.rows[0]?.panels[0]?.elements[0];
  if (!first) throw new Error('there is no element');
  return first;
};

it('a bare ampersand, CDATA, references and any case are read', () => {
  const found = readDashboard(
    '<FORM Theme="Dark"><Label>a & b &lt;c&gt; &#65;</Label><description><![CDATA[x < y & z]]></description></FORM>',
  );
  expect(found).toMatchObject({
    isForm: true,
    theme: 'dark',
    label: 'a & b <c> A',
    description: 'x < y & z',
  });
});

it.each([
  ['<a>\n<b>\n</a>', 3],
  ['<a x=1/>', 1],
  ['<a x="1" x="2"/>', 1],
  ['<a/><b/>', 1],
  ['', 1],
  ['<a>\n<!-- ', 2],
])('%j is a mistake in line %i', (text, line) => {
  try {
    parseXml(text);
    throw new Error('it was read');
  } catch (error) {
    expect(error).toBeInstanceOf(XmlError);
    expect((error as XmlError).line).toBe(line);
  }
});

it('no entity is expanded and no depth exceeds the stack', () => {
  const bomb = `<!DOCTYPE d [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><form><label>x&b;y</label></form>`;
  expect(readDashboard(bomb).label).toBe('xy');
  expect(() => parseXml('<a>'.repeat(100_000))).toThrow('inside each other');
});

it('a search is read in each of its spellings', () => {
  expect(
    element('<table><search base="b"><query>x</query></search></table>').search?.source,
  ).toEqual({
    kind: 'base',
    base: 'b',
    query: 'x',
  });
  expect(element('<table><search ref="R" app="o"/></table>').search?.source).toEqual({
    kind: 'report',
    name: 'R',
    app: 'o',
  });
  const old = element(
    '<table><searchString>x</searchString><earliestTime>-1h</earliestTime></table>',
  );
  expect(old.search).toMatchObject({ source: { kind: 'query', query: 'x' }, earliest: '-1h' });
  expect(element('<chart><searchName>R</searchName></chart>').search?.source.kind).toBe('report');
});

it('the template of an old form is the base of its elements', () => {
  const found = readDashboard(
    `<form><searchTemplate>index=a user=$u$</searchTemplate><earliestTime>-1d</earliestTime>
     <fieldset><input token="u"><seed>x</seed></input></fieldset>
     <row><table><searchPostProcess>stats count</searchPostProcess></table><chart/></row></form>`,
  );
  const [template, first, second] = allSearches(found);
  expect(template).toMatchObject({ source: { query: 'index=a user=$u$' }, earliest: '-1d' });
  expect(first?.source).toEqual({ kind: 'base', base: template?.id, query: 'stats count' });
  expect(second?.source).toEqual({ kind: 'base', base: template?.id, query: '' });
  expect(found.inputs[0]?.default).toEqual(['x']);
});

it('options have names in lower case, the last one counts', () => {
  const { options } = element(
    '<chart><search><query>x</query></search><option name="Charting.Chart">pie</option><option name="charting.chart"> line </option></chart>',
  );
  expect(options.get('charting.chart')).toBe('line');
});

it('HTML is kept as it is written', () => {
  expect(element('<html><p a="1">x &amp; <b>y</b></p></html>').html).toBe(
    '<p a="1">x &amp; <b>y</b></p>',
  );
  expect(element('<html><![CDATA[<p>x</p>]]></html>').html).toBe('<p>x</p>');
  // In HTML, what follows an element without an end tag would be inside it.
  expect(element('<html><div class="a"/><p><i /><br/>x</p> <hr/></html>').html).toBe(
    '<div class="a"></div><p><i ></i><br/>x</p> <hr/>',
  );
});

it('a submit button stands only where there are inputs', () => {
  expect(readDashboard('<form/>').submitButton).toBe(false);
  expect(readDashboard('<form><fieldset><input token="a"/></fieldset></form>').submitButton).toBe(
    true,
  );
  expect(
    readDashboard('<form><fieldset submitButton="False"><input token="a"/></fieldset></form>')
      .submitButton,
  ).toBe(false);
});

it('elements of an old row are grouped as it says', () => {
  const table = '<table><searchString>x</searchString></table>';
  const found = readDashboard(
    `<dashboard><row grouping="2,1">${table.repeat(3)}</row></dashboard>`,
  );
  expect(found.rows[0]?.panels.map((panel) => panel.elements.length)).toEqual([2, 1]);
});

it('the navigation of an app has its groups and where it begins', () => {
  const found = readNavigationText(
    `<nav color="#123456"><view name="a"/><collection label="G"><view name="b" default="true"/><divider/>
     <collection label="H"><a href="http://x">X</a></collection></collection><view source="unclassified" match="c"/></nav>`,
  );
  expect(found.start).toBe('b');
  expect(found.items.map((item) => item.kind)).toEqual(['view', 'group', 'views']);
});

it.each([
  ['0x53A051', '#53a051'],
  ['#abc', '#aabbcc'],
  ['"53a051"', '#53a051'],
  ['Red', '#ff0000'],
  ['transparent', 'transparent'],
  ['rgb(1, 2, 3)', 'rgb(1, 2, 3)'],
  ['reddish', null],
  ['url(x)', null],
  ['', null],
])('the colour %s', (text, color) => expect(colorOf(text)).toBe(color));

it('lists are read in any spelling', () => {
  expect(listOf('["a, b", c]')).toEqual(['a, b', 'c']);
  expect(listOf(`'a, b' , "c"`)).toEqual(['a, b', 'c']);
  expect(listOf("O'Brien, D'Arcy")).toEqual(["O'Brien", "D'Arcy"]);
  expect(listOf(' , ')).toEqual([]);
  expect(colorsOf('[0x111111,"#222222"]')).toEqual(['#111111', '#222222']);
  expect(fieldList('a b')).toEqual(['a', 'b']);
  expect(fieldList('a b, c')).toEqual(['a b', 'c']);
  expect(tokenList('$a$, b')).toEqual(['a', 'b']);
  expect([...pairsOf('{"a:b": 0x1, c: #2}')]).toEqual([
    ['a:b', '0x1'],
    ['c', '#2'],
  ]);
});

it.each([
  ['status!="*resolved" status!="closed*"', ['status!="*resolved" status!="closed*"']],
  ['"x" OR "y"', ['"x" OR "y"']],
  ['host="a,b", host=c', ['host="a,b"', 'host=c']],
  ['5" disk, b', ['5" disk', 'b']],
])('quotes inside a part of %j stay', (text, parts) => expect(listOf(text)).toEqual(parts));

it('a default of several values keeps the quotes of conditions and the value of a choice', () => {
  const input = (kind: string, value: string, choice: string) => {
    const xml = `<form><fieldset><input type="${kind}" token="t"><choice value='${choice}'>c</choice><default>${value}</default></input></fieldset></form>`;
    return readDashboard(xml).inputs[0]?.default;
  };
  const condition = 'sourcetype="linux_secure"';
  expect(input('checkbox', condition, condition)).toEqual([condition]);
  expect(input('multiselect', `${condition}, b`, 'b')).toEqual([condition, 'b']);
  expect(input('multiselect', 'a,b', 'a,b')).toEqual(['a,b']);
  expect(input('multiselect', '"a"', '"a"')).toEqual(['"a"']);
  expect(input('multiselect', '"a"', 'a')).toEqual(['a']);
  expect(input('multiselect', '', 'a')).toEqual([]);
});

it('words and times are read in any spelling', () => {
  expect([flag('True', false), flag('0', true), flag('None', true), flag('x', true)]).toEqual([
    true,
    false,
    false,
    true,
  ]);
  expect([
    secondsOf('30s'),
    secondsOf('5m'),
    secondsOf('90'),
    secondsOf('0'),
    secondsOf('x'),
  ]).toEqual([30, 300, 90, null, null]);
});

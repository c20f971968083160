import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { allInputs, readDashboard } from '../model/reader';
import type { DashboardElement } from '../model/types';
import { type Click, clickLookup } from './links';
import { DashboardRun } from './page';
import type { JobSpec, SearchServer } from './server';

const opened: [string, string][] = [];
const created: JobSpec[] = [];
let query = '';
const steps: boolean[] = [];

const server: SearchServer = {
  createJob: (spec) => {
    created.push(spec);
    return Promise.resolve(`job_${created.length}`);
  },
  jobs: () => Promise.resolve(new Map()),
  rows: () => Promise.resolve({ fields: [], rows: [], preview: false, messages: [] }),
  cancel: () => {},
  report: () => Promise.reject(new Error('none')),
};

function run(xml: string, address = ''): DashboardRun {
  return new DashboardRun({
    dashboard: readDashboard(xml),
    app: 'shop',
    view: 'page',
    user: 'ann',
    server,
    timezone: 'UTC',
    query: new URLSearchParams(address),
    times: [{ label: 'Since noon', earliest: '@d+12h', latest: 'now' }],
    open: (href, target) => opened.push([href, target]),
    onQuery: (next, isChoice) => {
      query = next.toString();
      steps.push(isChoice);
    },
  });
}

const form = (inputs: string, attributes = 'submitButton="false"', rest = '') =>
  `<form><fieldset ${attributes}>${inputs}</fieldset>${rest}</form>`;
const input = (page: DashboardRun, at = 0) => {
  const found = allInputs(page.dashboard)[at];
  if (!found) throw new Error('there is no such input');
  return found;
};
const token = (page: DashboardRun, name: string) => page.tokens.submitted(name);

beforeEach(() => {
  vi.useFakeTimers();
  opened.length = 0;
  created.length = 0;
  query = '';
  steps.length = 0;
});
afterEach(() => vi.useRealTimers());

it('what a person chooses is a step of the history, what an input chooses itself is none', () => {
  const page = run(form('<input type="dropdown" token="a"/>'));
  page.chooseFirst(input(page), 'x', 'x');
  page.choose(input(page), ['y']);
  expect([query, steps]).toEqual(['form.a=y', [false, true]]);
});

it('an input begins with the address, else its initial value, else its default', () => {
  const xml = form(
    '<input type="text" token="a"><default>d</default><initialValue>i</initialValue></input>',
  );
  expect(token(run(xml), 'a')).toBe('i');
  expect(token(run(xml, 'form.a=u'), 'a')).toBe('u');
  expect(token(run(form('<input type="text" token="a"/>')), 'a')).toBeUndefined();
});

it('prefixes, delimiters and suffixes stand around what is chosen', () => {
  const page = run(
    form(`<input type="multiselect" token="s"><default>a,b</default><prefix>(</prefix><suffix>)</suffix>
      <valuePrefix>x="</valuePrefix><valueSuffix>"</valueSuffix><delimiter> OR </delimiter></input>`),
  );
  expect(token(page, 's')).toBe('(x="a" OR x="b")');
  expect(token(page, 'form.s')).toBe('a,b');
  page.choose(input(page), ['c']);
  expect(token(page, 's')).toBe('(x="c")');
  expect(query).toBe('form.s=c');
});

it('an empty text adds nothing', () => {
  const page = run(
    form('<input type="text" token="t"><default></default><prefix>user=</prefix></input>'),
  );
  expect(token(page, 't')).toBe('');
  page.choose(input(page), ['ann']);
  expect(token(page, 't')).toBe('user=ann');
});

it('a cleared input takes its default again', () => {
  const page = run(form('<input type="dropdown" token="h"><default>*</default></input>'));
  page.choose(input(page), ['web-01']);
  page.choose(input(page), []);
  expect(token(page, 'h')).toBe('*');
});

it('a time input without a token is the range of the page; a range may be named', () => {
  const page = run(form('<input type="time"><default>Last 60 minutes</default></input>'));
  expect([token(page, 'earliest'), token(page, 'latest')]).toEqual(['-60m', 'now']);
  const named = run(form('<input type="time" token="t"><default>Since noon</default></input>'));
  expect(token(named, 't.earliest')).toBe('@d+12h');
});

it('without a time input the range is all time, unless the address says another one', async () => {
  const search = `<search><query>index=a</query><earliest>$earliest$</earliest>
    <latest>$latest$</latest></search>`;
  const xml = `<form><fieldset submitButton="true"><input type="text" token="a"/></fieldset>
    <row><panel><table>${search}</table></panel></row></form>`;
  const ran = async (address: string) => {
    const page = run(xml, address);
    page.manager.watch(page.dashboard.rows[0]?.panels[0]?.elements[0]?.search?.key ?? '');
    await vi.advanceTimersByTimeAsync(10);
    const { earliest, latest } = created.at(-1) ?? {};
    return [earliest, latest, token(page, 'earliest'), token(page, 'latest')];
  };
  expect(await ran('')).toEqual(['', '', '0', '']);
  expect(await ran('earliest=-1h')).toEqual(['-1h', '', '-1h', '']);
  const inLink = clickLookup(CLICK, () => undefined, { earliest: '', latest: '' });
  expect([inLink('earliest'), inLink('latest')]).toEqual(['0', '']);
});

it('with a button nothing is searched with before it is pressed', () => {
  const inputs = `<input type="text" token="a"><default>1</default></input>
    <input type="text" token="b" searchWhenChanged="true"><default>2</default></input>`;
  const page = run(form(inputs, 'submitButton="true"'));
  expect([token(page, 'a'), token(page, 'b')]).toEqual([undefined, '2']);
  page.submit();
  expect(token(page, 'a')).toBe('1');
  page.choose(input(page), ['3']);
  expect([token(page, 'a'), page.tokens.default('a')]).toEqual(['1', '3']);
  expect(token(run(form(inputs, 'submitButton="true" autoRun="true"')), 'a')).toBe('1');
});

it('with autoRun, a first choice that is found later belongs to the first run', () => {
  const inputs = `<input type="text" token="a"><default>1</default></input>
    <input type="dropdown" token="b"><selectFirstChoice>true</selectFirstChoice></input>`;
  const first = (attributes: string, isTouched = false) => {
    const page = run(form(inputs, attributes));
    if (isTouched) page.choose(input(page), ['2']);
    page.chooseFirst(input(page, 1), 'www1', 'www1');
    return [token(page, 'a'), token(page, 'b'), page.tokens.default('b')];
  };
  expect(first('submitButton="true" autoRun="true"')).toEqual(['1', 'www1', 'www1']);
  expect(first('submitButton="true" autoRun="true"', true)).toEqual(['1', undefined, 'www1']);
  expect(first('submitButton="true"')).toEqual([undefined, undefined, 'www1']);
});

it('an input that a handler clears takes its default again', () => {
  const page = run(
    form(`<input type="dropdown" token="s"><default>x</default><change><unset token="form.h"/></change></input>
      <input type="dropdown" token="h"><default>*</default><initialValue>i</initialValue></input>`),
  );
  expect(token(page, 'h')).toBe('i');
  page.choose(input(page, 1), ['web-01']);
  page.choose(input(page), ['y']);
  expect([token(page, 'h'), page.values(input(page, 1))]).toEqual(['*', ['*']]);
});

it('a text whose token is unset takes its default again; one that a person empties stays empty', () => {
  const page = run(
    form(`<input type="dropdown" token="s"><default>x</default><change><unset token="form.t"/><unset token="form.u"/></change></input>
      <input type="text" token="t"><default>d $s$</default><initialValue>i</initialValue></input>
      <input type="text" token="u"><initialValue>i</initialValue></input>`),
  );
  page.choose(input(page, 1), ['']);
  expect([token(page, 't'), page.values(input(page, 1))]).toEqual(['', ['']]);
  page.choose(input(page), ['y']);
  expect([token(page, 't'), page.values(input(page, 1))]).toEqual(['d y', ['d y']]);
  expect([token(page, 'u'), page.values(input(page, 2))]).toEqual([undefined, []]);
});

it('a change handler sets tokens by value, label and condition, also at the beginning', () => {
  const page = run(
    form(`<input type="link" token="tab"><choice value="a">First</choice><choice value="b">Second</choice>
      <default>a</default><change>
        <condition value="a"><set token="one">$label$</set><unset token="two"/></condition>
        <condition match="$value$ == &quot;b&quot;"><set token="two">$value$</set><unset token="one"/></condition>
      </change></input>`),
  );
  expect([token(page, 'one'), token(page, 'two')]).toEqual(['First', undefined]);
  page.choose(input(page), ['b']);
  expect([token(page, 'one'), token(page, 'two')]).toEqual([undefined, 'b']);
});

it('setting form.X moves the input, setting X does not', () => {
  const page = run(
    form(
      '<input type="text" token="a"><default>1</default></input>',
      'submitButton="false"',
      '<init><set token="form.a">2</set></init>',
    ),
  );
  expect(page.values(input(page))).toEqual(['2']);
  page.setTokens({ 'form.a': '3' }, []);
  expect([page.values(input(page)), token(page, 'a')]).toEqual([['3'], '3']);
  page.setTokens({ a: '4' }, []);
  expect([page.values(input(page)), token(page, 'a')]).toEqual([['3'], '4']);
});

it('handlers that set off each other end', () => {
  const page = run(
    form(`<input type="text" token="a"><default>1</default><change><eval token="form.b">$value$ + 1</eval></change></input>
      <input type="text" token="b"><change><eval token="form.a">$value$ + 1</eval></change></input>`),
  );
  expect(Number(token(page, 'a'))).toBeGreaterThan(1);
});

it('the choice of all and of some values is kept apart with mvfilter', () => {
  const page = run(
    form(`<input type="multiselect" token="m"><choice value="*">All</choice><default>*</default>
      <delimiter> OR </delimiter><change><eval token="form.m">case(mvcount('form.m')=0,"*",
      mvcount('form.m')&gt;1 AND mvfind('form.m',"^\\*$")&gt;0,"*",
      mvcount('form.m')&gt;1 AND mvfind('form.m',"^\\*$")=0,mvfilter('form.m'!="*"),1==1,'form.m')</eval>
      </change></input>`),
  );
  expect([token(page, 'm'), page.problems]).toEqual(['*', []]);
  page.choose(input(page), ['*', 'b', 'c']);
  expect([page.values(input(page)), token(page, 'm')]).toEqual([['b', 'c'], 'b OR c']);
  page.choose(input(page), ['b', 'c', '*']);
  expect(page.values(input(page))).toEqual(['*']);
});

it('a token whose expression cannot be computed stays as it is', () => {
  const page = run(
    form(`<input type="dropdown" token="h"><default>a</default>
      <change><eval token="form.h">sha512($value$)</eval></change></input>`),
  );
  page.choose(input(page), ['b']);
  expect([page.values(input(page)), token(page, 'h')]).toEqual([['b'], 'b']);
  expect(page.problems.join()).toContain('sha512');
});

it('what cannot be computed is said', () => {
  const page = run('<form><init><eval token="x">sha512("a")</eval></init></form>');
  expect(page.problems.join()).toContain('sha512');
});

const CLICK: Click = {
  name: 'host',
  value: 'web 01',
  name2: 'count',
  value2: '7',
  row: new Map([
    ['host', 'web 01'],
    ['count', '7'],
    ['_id', 'x/1'],
  ]),
};

async function clicked(
  drilldown: string,
  click = CLICK,
  search = 'stats count by host',
  kind = 'table',
): Promise<DashboardRun> {
  const page = run(
    `<dashboard><row><panel><${kind}><search><query>index=a | ${search}</query><earliest>-1h</earliest></search>
     ${drilldown}</${kind}></panel></row></dashboard>`,
  );
  const element = page.dashboard.rows[0]?.panels[0]?.elements[0] as DashboardElement;
  page.manager.watch(element.search?.key ?? '');
  await vi.advanceTimersByTimeAsync(10);
  page.click(element, click, false);
  return page;
}

/** The search that a click leads to. */
async function searched(...args: Parameters<typeof clicked>): Promise<string | null> {
  opened.length = 0;
  await clicked(...args);
  return new URL(opened[0]?.[0] ?? '', 'http://x').searchParams.get('q');
}

it('a drilldown follows the first condition that fits', async () => {
  const page = await clicked(`<drilldown>
    <condition field="host"><set token="t">host</set></condition>
    <condition field="count"><set token="t">$click.value2$ of $row._id$</set></condition>
    <condition><set token="t">other</set></condition></drilldown>`);
  expect(token(page, 't')).toBe('7 of x/1');
});

it.each([
  [
    '<link>/app/other/view?form.h=$click.value$&amp;e=$earliest$</link>',
    '/app/other/view?form.h=web%2001&e=-1h',
    '',
  ],
  [
    '<link target="_blank">search?q=host=$row.host|s$</link>',
    '/app/shop/search?q=host="web 01"',
    '_blank',
  ],
  ['<link><![CDATA[ /en-US/app/shop/page2 ]]></link>', '/app/shop/page2', ''],
  ['<link>https://example.org/?q=$click.value$</link>', 'https://example.org/?q=web%2001', ''],
])('%s leads to %s', async (link, href, target) => {
  await clicked(`<drilldown>${link}</drilldown>`);
  expect(opened).toEqual([[href, target]]);
});

it.each([
  'javascript:alert(1)',
  ' JavaScript:alert(1)',
  'data:text/html,x',
  '//example.org/x',
  'vbscript:x',
])('%s leads nowhere', async (href) => {
  await clicked(`<drilldown><link>${href}</link></drilldown>`);
  expect(opened).toEqual([]);
});

it('without a drilldown a click leads to the events behind the value', async () => {
  await clicked('');
  const [href] = opened[0] ?? [''];
  const address = new URL(href, 'http://x');
  expect(address.pathname).toBe('/app/shop/search');
  expect(address.searchParams.get('q')).toBe('index=a host="web 01"');
  expect(address.searchParams.get('earliest')).toBe('-1h');
});

it('a single value leads to its events, in a trellis to those of its panel', async () => {
  const click: Click = {
    name: 'count',
    value: '7',
    name2: 'count',
    value2: '7',
    row: new Map([['count', '7']]),
  };
  expect(await searched('', click, 'stats count', 'single')).toBe('index=a');
  const trellis = { name: 'method', value: 'GET' };
  const search = 'stats count by method';
  expect(await searched('', { ...click, trellis }, search, 'single')).toBe('index=a method="GET"');
  const aggregation = { name: '_aggregation', value: 'count' };
  expect(await searched('', { ...click, trellis: aggregation }, search, 'single')).toBe('index=a');
});

const bar = (model: string, series: string, trellis?: Click['trellis']): Click => ({
  name: 'model',
  value: model,
  name2: series,
  value2: '7',
  row: new Map([['model', model]]),
  ...(trellis ? { trellis } : {}),
});

it.each([
  ['chart count over model by status', 'OK', 'index=a model="m" status="OK"'],
  ['chart count by model, status', 'OK', 'index=a model="m" status="OK"'],
  ['chart count over model', 'count', 'index=a model="m"'],
  ['timechart span=6h count by status limit=5', '304', 'index=a status="304"'],
  [
    'timechart count(eval(a=1)) AS "n m" by status where max in top5',
    '304',
    'index=a status="304"',
  ],
  ['timechart count avg(x) by status', 'avg(x): 304', 'index=a status="304"'],
  ['timechart count by status', 'OTHER', 'index=a'],
  ['timechart count by status otherstr="rest"', 'rest', 'index=a'],
  ['timechart count by status', 'NULL', 'index=a NOT status=*'],
  ['eval x=1 | timechart count by status', 'NULL', 'index=a | eval x=1 | search NOT status=*'],
  ['timechart count by status | rename "200" as "all well"', 'all well', 'index=a status="200"'],
  ['timechart count by status | addtotals', 'Total', 'index=a'],
  ['timechart count by index', 'VALUE_x', 'index=a (index="_x" OR index="VALUE_x")'],
  ['timechart count by status | addtotals', '200', 'index=a status="200"'],
  ["timechart count by status | eval bad='500'+'503'", 'bad', 'index=a'],
  ['timechart count by status | predict "200"', 'prediction(200)', 'index=a'],
  ['timechart count avg(x) by status', 'count: OTHER', 'index=a'],
  ['timechart count avg(x) by status sep="-"', 'count-304', 'index=a status="304"'],
  ['timechart count avg(x) by status format="$$VAL$$: $$AGG$$"', '304: count', 'index=a'],
  ['timechart count by status | rename "2*" as "ok 2*"', 'ok 200', 'index=a'],
  ['timechart count by status | eventstats avg("200")', 'avg(200)', 'index=a'],
  ['timechart count by status | eventstats avg("200")', '200', 'index=a status="200"'],
  ['timechart count by "a|b"', 'x" | delete \\', 'index=a "a|b"="x\\" | delete \\\\"'],
  ['chart count over model by bytes span=1000', '0-1000', 'index=a model="m"'],
  ['stats count by model, status', 'count', 'index=a model="m"'],
])('a bar of %s, %s, leads to the events of its series', async (search, series, events) => {
  const click = bar('m', series);
  const isTime = search.includes('timechart');
  const clicked = isTime ? { ...click, name: '_time', value: '1', row: new Map() } : click;
  expect(await searched('', clicked, search, 'chart')).toBe(events);
});

it('a bar in a trellis by aggregation leads to the events of its series', async () => {
  const search = 'chart count avg(x) over model by status';
  const trellis = { name: '_aggregation', value: 'count' };
  const events = 'index=a model="m" status="OK"';
  expect(await searched('', bar('m', 'OK', trellis), search, 'chart')).toBe(events);
});

it.each([
  ['timechart count by status', 'NULL', 'index=a NOT status=*'],
  ['timechart count by status', 'OTHER', 'index=a'],
  ['timechart count by status', '304', 'index=a status="304"'],
  ['timechart count avg(x) by status', '304', 'index=a status="304"'],
  ['timechart count by status | addtotals', 'Total', 'index=a'],
])('a panel of %s for the series %s leads to its events', async (search, value, events) => {
  const row = new Map([['_time', '1']]);
  for (const kind of ['chart', 'single'] as const) {
    for (const name of ['status', '']) {
      const name2 = search.includes('avg') ? 'count' : value;
      const click = { ...bar('m', name2, { name, value }), name: '_time', value: '1', row };
      expect(await searched('', click, search, kind)).toBe(events);
    }
  }
});

it('a row leads to the events of its whole group, by the names that the events know', async () => {
  const search = 'stats count by host, type | rename host as "The host", count as total';
  const row = new Map([
    ['The host', 'web 01'],
    ['type', 't'],
    ['total', '7'],
  ]);
  const of = (name2: string): Click => ({
    name: 'The host',
    value: 'web 01',
    name2,
    value2: row.get(name2) ?? '',
    row,
  });
  const option = '<option name="drilldown">row</option>';
  const group = 'index=a host="web 01" type="t"';
  expect(await searched(option, of('The host'), search)).toBe(group);
  expect(await searched('', of('total'), search)).toBe(group);
  expect(await searched('', of('The host'), search)).toBe('index=a host="web 01"');
});

function pageWith(element: string): [DashboardRun, DashboardElement] {
  const page = run(
    form(
      '<input type="text" token="a"/><input type="text" token="b"/>',
      'submitButton="false"',
      `<row><panel>${element}</panel></row>`,
    ),
  );
  return [page, page.dashboard.rows[0]?.panels[0]?.elements[0] as DashboardElement];
}

it('a click or a link that moves an input is a step of the history', () => {
  const [page, element] = pageWith(
    `<table><search><query>index=a</query></search><drilldown><set token="form.a">$click.value$</set>
     <set token="clicked">1</set></drilldown></table>`,
  );
  page.choose(input(page), ['typed']);
  page.click(element, CLICK, false);
  expect([query, steps]).toEqual(['form.a=web+01', [true, true]]);
  page.setTokens({ shown: '1' }, []);
  expect(steps).toHaveLength(2);
  page.setTokens({ 'form.b': 'x' }, ['form.a']);
  expect([query, steps]).toEqual(['form.b=x', [true, true, true]]);
});

it('the address has the inputs that a click moves before its link leads elsewhere', () => {
  const [page, element] = pageWith(
    `<table><search><query>index=a</query></search><drilldown><set token="form.a">$click.value$</set>
     <link>/app/shop/other</link></drilldown></table>`,
  );
  page.click(element, CLICK, false);
  expect([query, steps, opened]).toEqual(['form.a=web+01', [true], [['/app/shop/other', '']]]);
});

it('what a selection in a chart moves is in the address, and is no step of the history', () => {
  const [page, element] = pageWith(
    `<chart><search><query>index=a</query></search>
     <selection><set token="form.a">$start$</set></selection></chart>`,
  );
  page.select(element, { start: '10', end: '20', first: new Map(), last: new Map() });
  expect([query, steps]).toEqual(['form.a=10', [false]]);
});

it('inputs that wait for the button are in the address once it is pressed', () => {
  const page = run(
    form(
      `<input type="text" token="a"><change><set token="form.b">$value$</set></change></input>
       <input type="text" token="b"/>`,
      'submitButton="true"',
    ),
  );
  page.choose(input(page), ['x']);
  page.setTokens({ shown: '1' }, []);
  expect(steps).toEqual([]);
  page.submit();
  expect([query, steps]).toEqual(['form.a=x&form.b=x', [true]]);
});

it('what waits for the button is not in the address when a click or a link moves another input', () => {
  const page = run(
    form(
      '<input type="text" token="a"/><input type="text" token="b"><default>d</default></input>',
      'submitButton="true"',
    ),
  );
  page.choose(input(page), ['x']);
  page.setTokens({ 'form.b': 'y' }, []);
  expect([query, token(page, 'a')]).toEqual(['form.b=y', undefined]);
  page.submit();
  expect(query).toBe('form.a=x&form.b=y');
  page.choose(input(page, 1), ['z']);
  page.choose(input(page), ['w']);
  page.setTokens({ 'form.b': 'z' }, []);
  expect([query, token(page, 'b')]).toEqual(['form.a=x&form.b=z', 'z']);
  expect(steps).toEqual([true, true, true]);
});

it('an input that searches when it is changed tells of itself only', () => {
  const page = run(
    form(
      '<input type="text" token="a"/><input type="text" token="b" searchWhenChanged="true"/>',
      'submitButton="true"',
    ),
  );
  page.choose(input(page), ['x']);
  page.choose(input(page, 1), ['y']);
  expect(query).toBe('form.b=y');
});

it('a selected span of a chart sets tokens', () => {
  const page = run(
    `<dashboard><row><panel><chart><search><query>index=a</query></search>
     <selection><set token="from">$start$</set><set token="to">$end$</set><set token="n">$start.count$</set></selection>
     </chart></panel></row></dashboard>`,
  );
  const element = page.dashboard.rows[0]?.panels[0]?.elements[0] as DashboardElement;
  const row = (count: string) => new Map([['count', count]]);
  page.select(element, { start: '10', end: '20', first: row('1'), last: row('2') });
  expect(['from', 'to', 'n'].map((name) => token(page, name))).toEqual(['10', '20', '1']);
});

it('searches of a dashboard name it for the audit trail', async () => {
  const page = run(
    '<dashboard><row><table><search><query>index=a</query></search></table></row></dashboard>',
  );
  page.manager.watch(page.dashboard.rows[0]?.panels[0]?.elements[0]?.search?.key ?? '');
  await vi.advanceTimersByTimeAsync(1_000);
  expect(created.map((spec) => spec.provenance)).toEqual(['UI:Dashboard:page']);
});

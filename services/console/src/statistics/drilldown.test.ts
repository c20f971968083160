import { expect, it } from 'vitest';
import { formatEpoch } from '../time/zone';
import { eventsOfCell } from './drilldown';
import { type Row, visibleTable } from './table';

const table = (columns: string[], ...rows: Row[]) =>
  visibleTable({ fields: columns, rows, preview: false, messages: [] });
const behind = (query: string, columns: string[], row: Row, column: number) =>
  eventsOfCell(query, table(columns, row), row, column, 'UTC')?.query;

it('a number leads to the events of its group', () => {
  const columns = ['status', 'host', 'count'];
  expect(behind('index=web | stats count by status, host', columns, ['404', 'w 1', '7'], 2)).toBe(
    'index=web status="404" host="w 1"',
  );
  expect(behind('index=web | top limit=5 status', ['status', 'count'], ['404', '7'], 1)).toBe(
    'index=web status="404"',
  );
  expect(behind('index=web | stats count', ['count'], ['7'], 0)).toBe('index=web');
});

it('renamed columns are asked for by the names of the events', () => {
  const renamed =
    'index=web | stats count by status, host | rename status as code, host AS "The host"';
  const columns = ['code', 'The host', 'count'];
  expect(behind(renamed, columns, ['404', 'w', '7'], 2)).toBe('index=web status="404" host="w"');
  const chart = 'index=web | chart count over host by status | rename host as h, 404 as missing';
  expect(behind(chart, ['h', '200', 'missing'], ['w', '5', '2'], 2)).toBe(
    'index=web host="w" status="404"',
  );
});

it('other values of a column are no condition; without a group there are no events of the cell', () => {
  const upper =
    'index=web | stats count by status, host | eval x=if(host="a", 1, 2), host=upper(host)';
  const columns = ['status', 'host', 'count'];
  expect(behind(upper, columns, ['404', 'W', '7'], 2)).toBe('index=web status="404"');
  const none = 'index=web | stats count by status | fields count';
  expect(behind(none, ['count'], ['7'], 0)).toBeUndefined();
  const time = 'index=web | timechart count by host | rename _time as Time';
  expect(behind(time, ['Time', 'w'], ['2026-11-20', '7'], 1)).toBeUndefined();
  const own = '| inputlookup l | stats count by host | rename host as h';
  expect(behind(own, ['h', 'count'], ['w', '7'], 1)).toBe(`${own} | search h="w"`);
});

it('commands between a dedup and the report are kept with it, as they make and filter what it counts', () => {
  for (const between of [
    'rex "(?<code>\\d+)"',
    'lookup l host OUTPUT code',
    'eval code=1 | where n>1',
    'sort n | spath',
  ]) {
    const query = `index=web | dedup host | ${between} | stats count by code`;
    expect(behind(query, ['code', 'count'], ['404', '7'], 1)).toBe(
      `index=web | dedup host | ${between} | search code="404"`,
    );
  }
  const alone = 'index=web | dedup host | rename host as h | stats count by h';
  expect(behind(alone, ['h', 'count'], ['w', '7'], 1)).toBe('index=web host="w"');
  // Where the events themselves are gone, a field that is made later is no condition.
  for (const made of ['rex "(?<code>\\d+)"', 'lookup l host OUTPUTNEW a AS code']) {
    const rows = `index=web | table _raw host | ${made} | stats count by code`;
    expect(behind(rows, ['code', 'count'], ['404', '7'], 1)).toBeUndefined();
  }
});

it('a column of a chart is a value of the field that splits it', () => {
  const chart = 'index=web | chart count over host by status';
  expect(behind(chart, ['host', '200', '404'], ['w', '5', '2'], 2)).toBe(
    'index=web host="w" status="404"',
  );
  expect(behind(chart, ['host', '200', 'OTHER'], ['w', '5', '2'], 2)).toBe('index=web host="w"');
  const indexes = 'index=_* | chart count over host by index';
  expect(behind(indexes, ['host', 'VALUE_internal'], ['w', '5'], 1)).toBe(
    'index=_* host="w" (index="_internal" OR index="VALUE_internal")',
  );
  const items = 'index=web | chart count over host by item';
  expect(behind(items, ['host', 'VALUE_added_tax'], ['w', '5'], 1)).toBe(
    'index=web host="w" (item="_added_tax" OR item="VALUE_added_tax")',
  );
  expect(behind(chart, ['host', '200', 'NULL'], ['w', '5', '2'], 2)).toBe(
    'index=web host="w" NOT status=*',
  );
  const several = 'index=web | chart count avg(x) over host by status';
  expect(behind(several, ['host', 'count: 200'], ['w', '5'], 1)).toBe(
    'index=web host="w" status="200"',
  );
  const totals = `${chart} | addtotals`;
  expect(behind(totals, ['host', '200', 'Total'], ['w', '5', '2'], 2)).toBe('index=web host="w"');
  expect(behind('index=web | chart count by host', ['host', 'count'], ['w', '5'], 1)).toBe(
    'index=web host="w"',
  );
});

it.each([
  'timechart count by host span=1h limit=0',
  'timechart count by host useother = f where max in top5',
  'timechart span=1h count by "host" otherstr="the rest"',
])('options behind the field that splits %j are no fields', (command) => {
  const row = ['2026-11-20T11:00:00.000+00:00', '5', '3600'];
  const columns = ['_time', 'w 1', '_span'];
  expect(behind(`index=web | ${command}`, columns, row, 1)).toBe('index=web host="w 1"');
  const named = 'index=web | timechart count by "a b" limit=5';
  expect(behind(named, columns, row, 1)).toBe('index=web "a b"="w 1"');
});

/** The range behind the row of the first time, without its year and its seconds. */
function spanBehind(command: string, columns: string[], zone: string, times: string[]) {
  const rows = times.map((time) => [time, '3', '86400']);
  const shown = table(columns, ...rows);
  const found = eventsOfCell(`index=web | ${command}`, shown, shown.rows[0] ?? [], 1, zone);
  if (!found?.range) return found;
  const { earliest, latest } = found.range;
  return [earliest, latest].map((one) => formatEpoch(Number(one), zone).slice(5, -3));
}

const DAYS = ['2026-03-29T00:00:00.000+01:00', '2026-03-31T00:00:00.000+02:00'];
const MONTHS = ['2026-02-01', '2026-01-01', '2026-03-01'].map((day) => `${day}T00:00:00.000+00:00`);
const HOUR = '2026-11-20T11:00:00.000+00:00';
const NEXT = '2026-11-20T12:00:00.000+00:00';

it.each([
  ['_span', 'timechart count', 'Europe/Berlin', DAYS, ['03-29 00:00', '03-30 00:00']],
  ['_span', 'timechart count', 'UTC', [HOUR], ['11-20 11:00', '11-21 11:00']],
  ['', 'bin span=1mon _time | stats count by _time', 'UTC', MONTHS, ['02-01 00:00', '03-01 00:00']],
  ['', 'stats count by _time, host', 'UTC', [NEXT, NEXT, HOUR], ['11-20 12:00', '11-20 13:00']],
  ['', 'timechart count', 'UTC', [HOUR], null],
  ['', 'timechart count | eval _time=strftime(_time, "%H")', 'UTC', ['11', '12'], null],
  ['', 'stats latest(_time) as _time', 'UTC', [HOUR], { query: 'index=web', range: null }],
])(
  'with the column "%s", a row of %s in %s has its own range',
  (name, command, zone, times, range) =>
    expect(spanBehind(command, ['_time', 'count', name || 'n'], zone, times)).toEqual(range),
);

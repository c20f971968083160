import { expect, it } from 'vitest';
import { eventsOfCell } from './drilldown';
import type { Row } from './table';

const table = (columns: string[], ...rows: Row[]) => ({
  columns,
  cells: (at: number) => rows.map((row) => row[at] ?? null),
});
const behind = (query: string, columns: string[], row: Row, column: number) =>
  eventsOfCell(query, table(columns, row), row, column).query;

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

it('a column of a chart is a value of the field that splits it', () => {
  const chart = 'index=web | chart count over host by status';
  expect(behind(chart, ['host', '200', '404'], ['w', '5', '2'], 2)).toBe(
    'index=web host="w" status="404"',
  );
  expect(behind(chart, ['host', '200', 'OTHER'], ['w', '5', '2'], 2)).toBe('index=web host="w"');
  expect(behind('index=web | chart count by host', ['host', 'count'], ['w', '5'], 1)).toBe(
    'index=web host="w"',
  );
});

it.each([
  'timechart count by host span=1h limit=0',
  'timechart count by host useother = f where max in top5',
  'timechart span=1h count by "host" otherstr="the rest"',
])('options behind the field that splits %j are no fields', (command) => {
  const found = behind(`index=web | ${command}`, ['_time', 'w 1'], ['', '5'], 1);
  expect(found).toBe('index=web host="w 1"');
  const named = behind(
    'index=web | timechart count by "a b" limit=5',
    ['_time', 'x'],
    ['', '5'],
    1,
  );
  expect(named).toBe('index=web "a b"="x"');
});

it('a row of a time chart has its own range', () => {
  const rows: Row[] = [
    ['2026-11-20T10:00:00.000+00:00', '3'],
    ['2026-11-20T11:00:00.000+00:00', '4'],
  ];
  const hours = table(['_time', '404'], ...rows);
  const found = eventsOfCell('index=web | timechart count by status', hours, rows[1] ?? [], 1);
  expect(found.query).toBe('index=web status="404"');
  const { earliest, latest } = found.range ?? { earliest: '', latest: '' };
  expect(Number(latest) - Number(earliest)).toBe(3_600);
  expect(Number(earliest)).toBe(Date.UTC(2026, 10, 20, 11) / 1000);
});

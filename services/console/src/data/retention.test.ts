import { QueryClient } from '@tanstack/react-query';
import { expect, it } from 'vitest';
import { indexes } from './indexKind';
import { RETENTIONS, retentionWarning } from './retention';

const DAY = 86_400;
const NOW = Date.UTC(2026, 10, 29, 12) / 1_000;
const warning = (earliest: number | null, latest: number | null, seconds: number | null) =>
  retentionWarning({ earliest, latest }, { index: 'web', seconds }, NOW, 'Europe/Berlin');

it('a text whose events are all older than the retention of the index is warned of', () => {
  expect(warning(NOW - 900 * DAY, NOW - 31 * DAY, 30 * DAY)).toBe(
    'All events are older than the retention of the index web (30 days, frozenTimePeriodInSecs), which removes them from searches within minutes: raise it first',
  );
});

it('a text of which a part is older names the time', () => {
  expect(warning(NOW - 900 * DAY, NOW - DAY, 30 * DAY)).toContain(
    'The events before 2026-10-30 13:00:00 (Europe/Berlin) are older than',
  );
});

it('of a text of which only the beginning was read, nothing is said of the others', () => {
  const times = { earliest: NOW - 900 * DAY, latest: NOW - 31 * DAY, isPart: true };
  const text = retentionWarning(times, { index: 'web', seconds: 30 * DAY }, NOW, 'Europe/Berlin');
  expect(text).toContain('The events before 2026-10-30 13:00:00 (Europe/Berlin) are older than');
  expect(text).toContain('which may remove them');
});

it('after the load, only what was removed is to be loaded again', () => {
  const times = { earliest: NOW - 900 * DAY, latest: NOW - DAY };
  const index = { index: 'web', seconds: 30 * DAY };
  expect(retentionWarning(times, index, NOW, 'Europe/Berlin', true)).toMatch(
    /within minutes: raise it now\. What is removed by then has to be loaded again$/,
  );
});

it('events that are kept are not warned of', () => {
  expect(warning(NOW - 30 * DAY, NOW, 30 * DAY)).toBeNull();
  expect(warning(null, null, 30 * DAY)).toBeNull();
});

it('an index without a limit, or whose retention is not known, keeps what is loaded', () => {
  expect(warning(-NOW, -NOW + 1, 2_147_483_647)).toBeNull();
  expect(warning(0, 1, null)).toBeNull();
});

it('a retention that was changed on the page of the indexes is asked for again', async () => {
  const queries = new QueryClient();
  queries.setQueryData(RETENTIONS, []);
  // As the forms of objects do after a change.
  await queries.invalidateQueries({ queryKey: ['objects', indexes.path] });
  expect(queries.getQueryState(RETENTIONS)?.isInvalidated).toBe(true);
  queries.clear();
});

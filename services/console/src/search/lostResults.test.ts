import { expect, it } from 'vitest';
import { ApiError } from '../api/client';
import { explainLostResults } from './lostResults';

const GONE = new ApiError('notFound', 404, []);

it('says what a second run of a lost search would change again', () => {
  expect(explainLostResults(GONE, 'index=a | stats count')).toContain('Run it again.');
  const written = explainLostResults(GONE, 'index=a | outputlookup a.csv | collect index=b');
  expect(written).toContain('also repeats outputlookup, collect.');
  expect(explainLostResults(GONE, 'index=a | `store`')).toContain('what its macros');
  const away = new ApiError('unreachable', 0, []);
  expect(explainLostResults(away, 'index=a | delete')).toContain('cannot be reached');
});

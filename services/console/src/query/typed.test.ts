import { expect, it } from 'vitest';
import { withSearch } from './typed';

it('searches for words that are commands, unless these make rows', () => {
  for (const query of ['sort error', 'Stats count', 'transaction failed | head 5', 'where']) {
    expect(withSearch(query)).toBe(`search ${query}`);
  }
  expect(withSearch('  sort error')).toBe('search   sort error');
  for (const query of [
    '| stats count',
    '[search a]',
    '`macro`',
    'search sort',
    'error',
    'stats=1',
    'head != 3',
    'table:x',
    'makeresults',
    'tstats count',
    'inputlookup a.csv | head 5',
    'rest /services/server/info',
    '"sort" error',
    '',
  ]) {
    expect(withSearch(query)).toBe(query);
  }
});

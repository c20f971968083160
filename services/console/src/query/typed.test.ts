import { expect, it } from 'vitest';
import { asReport, withSearch } from './typed';

it('searches for words that can be commands, unless these make rows', () => {
  for (const query of [
    'sort error',
    'Stats count',
    'transaction failed | head 5',
    'where',
    'rest failed',
    'rest',
    'rest status=500 failed /var/log',
    'rest x="a b"c /var/log',
    'macro failed',
    'error',
    'shout',
    'web-01.example failed',
    'größe',
    '```a``` sort error',
    '```a``````b\n```shout',
  ]) {
    expect(withSearch(query)).toBe(`search ${query}`);
  }
  expect(withSearch('  sort error')).toBe('search   sort error');
  for (const query of [
    '| stats count',
    '[search a]',
    '`macro`',
    'search sort',
    'stats=1',
    'index = main',
    'head != 3',
    'table:x',
    '(a OR b)',
    'makeresults',
    'tstats count',
    'inputlookup a.csv | head 5',
    'rest /services/server/info',
    'REST count=0 "/services/server/info?a=b" | table a',
    'rest splunk_server="a b" count=0 /services/server/info?a=b',
    '"sort" error',
    '```a``` | stats count',
    '```a``` search sort',
    '```a``` tstats count',
    '```sort error',
    '',
  ]) {
    expect(withSearch(query)).toBe(query);
  }
});

it('saves what has run', () => {
  expect(asReport(' inputlookup a.csv | head 5')).toBe('| inputlookup a.csv | head 5');
  expect(asReport('Makeresults')).toBe('| Makeresults');
  expect(asReport(' ```a``` makeresults')).toBe('| ```a``` makeresults');
  for (const query of ['| makeresults', 'search sort', 'sort error', 'rest=1', '`macro`']) {
    expect(asReport(query)).toBe(query);
  }
  expect(asReport(' ')).toBe('*');
});

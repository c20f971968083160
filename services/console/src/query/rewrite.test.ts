import { describe, expect, it } from 'vitest';
import {
  eventsBehind,
  withFieldPresent,
  withFieldValue,
  withNumbers,
  withoutFieldValue,
  withQuickReport,
} from './rewrite';
import { baseSearch, fieldName, topLevelPipes } from './syntax';

describe('adding a field value', () => {
  it('appends to a plain search', () =>
    expect(withFieldValue('index=main error', 'host', 'web-01')).toBe(
      'index=main error host="web-01"',
    ));
  it('replaces a search for everything', () => {
    expect(withFieldValue('*', 'host', 'a')).toBe('host="a"');
    expect(withFieldValue('  ', 'host', 'a')).toBe('host="a"');
  });
  it('keeps an OR together', () =>
    expect(withFieldValue('error OR warn', 'host', 'a')).toBe('(error OR warn) host="a"'));
  it('sees no OR inside quotes or parentheses', () => {
    expect(withFieldValue('"this OR that"', 'host', 'a')).toBe('"this OR that" host="a"');
    expect(withFieldValue('(a OR b)', 'host', 'a')).toBe('(a OR b) host="a"');
  });
  it('filters after the pipes there are', () =>
    expect(withFieldValue('error | eval x=1', 'x', '1')).toBe('error | eval x=1 | search x="1"'));
  it('does without a pipe at the end', () => {
    expect(withFieldValue('error |', 'host', 'a')).toBe('error host="a"');
    expect(withFieldValue('error | eval x=1 | ', 'x', '1')).toBe('error | eval x=1 | search x="1"');
    const excluded = 'error | eval x=1 | search x!="1" |';
    expect(withFieldValue(excluded, 'x', '1')).toBe('error | eval x=1 | search x="1"');
    expect(withQuickReport('error |', 'host', 'top')).toBe('error | top limit=20 host');
    expect(withQuickReport('|', 'host', 'top')).toBe('* | top limit=20 host');
    expect(withNumbers('error|', 'n')).toMatch(/^error \| stats min/);
    expect(withFieldValue('"a |', 'host', 'a')).toBe('"a | host="a"');
  });
  it('takes a pipe inside quotes for text', () =>
    expect(withFieldValue('"a | b"', 'host', 'a')).toBe('"a | b" host="a"'));
  it('escapes quotes and backslashes', () =>
    expect(withFieldValue('*', 'path', 'C:\\dir\\"x"')).toBe('path="C:\\\\dir\\\\\\"x\\""'));
  it('compares values with an asterisk exactly', () =>
    expect(withFieldValue('error', 'glob', 'a*')).toBe('error | where glob="a*"'));
  it('quotes field names for where', () =>
    expect(withFieldValue('error', 'http.path', '/*')).toBe(`error | where 'http.path'="/*"`));
  it('quotes unusual field names', () =>
    expect(withFieldValue('*', 'user name', 'x')).toBe('"user name"="x"'));
  it('is idempotent', () => {
    const once = withFieldValue('error', 'host', 'a b');
    expect(withFieldValue(once, 'host', 'a b')).toBe(once);
  });
  it('does not take a longer term for its own', () =>
    expect(withFieldValue('myhost="a"', 'host', 'a')).toBe('myhost="a" host="a"'));
});

describe('excluding a field value', () => {
  it('appends an inequality', () =>
    expect(withoutFieldValue('error', 'host', 'a')).toBe('error host!="a"'));
  it('takes the opposite back', () => {
    expect(withoutFieldValue('error host="a" x=1', 'host', 'a')).toBe('error x=1 host!="a"');
    expect(withFieldValue('error host!="a"', 'host', 'a')).toBe('error host="a"');
  });
  it('leaves the opposite in an alternative alone', () =>
    expect(withoutFieldValue('host="a" OR x=1', 'host', 'a')).toBe('(host="a" OR x=1) host!="a"'));
  it('takes back an opposite filter after pipes', () =>
    expect(withoutFieldValue('a | eval x=1 | search x="1"', 'x', '1')).toBe(
      'a | eval x=1 | search x!="1"',
    ));
});

describe('reports', () => {
  it('append to the search', () => {
    expect(withQuickReport('error', 'status', 'top')).toBe('error | top limit=20 status');
    expect(withQuickReport('', 'user name', 'topOverTime')).toBe(
      '* | timechart limit=10 count by "user name"',
    );
  });
  it('lead back to their events', () => {
    expect(eventsBehind('index=main "a|b" | stats count')).toBe('index=main "a|b"');
    expect(eventsBehind('| makeresults')).toBe('*');
  });
  it('ask for the presence of a field', () =>
    expect(withFieldPresent('error', 'status')).toBe('error status=*'));
});

describe('syntax', () => {
  it('finds pipes outside subsearches, macros and comments', () =>
    expect(topLevelPipes('a [search b | fields c] `m(x|y)` ```no | pipe``` | stats count')).toEqual(
      [49],
    ));
  it('survives what is not closed', () => {
    expect(topLevelPipes('a "b | c')).toEqual([]);
    expect(topLevelPipes('a [b | c')).toEqual([]);
    expect(topLevelPipes('a `b | c')).toEqual([]);
  });
  it('knows the search before the first pipe', () =>
    expect(baseSearch(' error | head 5 ')).toBe('error'));
  it('quotes names that are keywords or hold operators', () =>
    expect(['by', 'a b', 'a=b', '1st', 'x*'].map(fieldName)).toEqual([
      '"by"',
      '"a b"',
      '"a=b"',
      '"1st"',
      '"x*"',
    ]));
  it('leaves names with dots and braces plain', () =>
    expect(fieldName('Records{}.userName')).toBe('Records{}.userName'));
});

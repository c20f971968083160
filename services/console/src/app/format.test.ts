import { expect, it } from 'vitest';
import { dollars, sentence, short } from './format';

it('numbers of charts are short, and small ones are not zero', () =>
  expect([1234.5678, 0.12345, 0.00012345, -0.02, 0].map(short)).toEqual([
    '1,234.568',
    '0.123',
    '0.000123',
    '-0.02',
    '0',
  ]));

it('a message begins with a capital, a name does not', () => {
  expect(sentence('the server is busy')).toBe('The server is busy');
  for (const text of ['max_time = 5: too long', 'disabled = x', 'tz: unknown', '"a" is not', '']) {
    expect(sentence(text)).toBe(text);
  }
});

it('dollars have two digits that matter at least', () =>
  expect([0, 0.0000004, 0.0000048, 0.0081, 0.5, 1, 12_345.678].map(dollars)).toEqual([
    '$0',
    '<$0.000001',
    '$0.0000048',
    '$0.0081',
    '$0.50',
    '$1.00',
    '$12,345.68',
  ]));

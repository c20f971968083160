import { expect, it } from 'vitest';
import { csvOf, jsonOf, mergedPages } from './exportRows';

it('pages with different fields make one table', () =>
  expect(
    mergedPages([
      { fields: ['a', 'b'], rows: [['1', '2']] },
      { fields: ['b', 'c'], rows: [['3', null]] },
    ]),
  ).toEqual({
    fields: ['a', 'b', 'c'],
    rows: [
      ['1', '2', null],
      [null, '3', null],
    ],
  }));

it('CSV quotes what needs it', () => {
  const rows = [
    ['say "x"', ['1', '2']],
    ['plain', null],
  ];
  expect(csvOf({ fields: ['a,b', 'c'], rows })).toBe('"a,b",c\r\n"say ""x""","1\n2"\r\nplain,\r\n');
});

it('JSON leaves out what has no value', () => {
  const rows = [
    ['', null],
    [['x'], '1'],
  ];
  expect(JSON.parse(jsonOf({ fields: ['a', 'b'], rows }))).toEqual([
    { a: '' },
    { a: ['x'], b: '1' },
  ]);
});

it('cells that a spreadsheet would run are text, numbers stay numbers', () => {
  const rows = [['=cmd()', '+1+1', '-1+1', '@sum', '-2.5', 'a=b']];
  const fields = ['=f', 'b', 'c', 'd', 'e', 'f'];
  expect(csvOf({ fields, rows })).toBe("'=f,b,c,d,e,f\r\n'=cmd(),'+1+1,'-1+1,'@sum,-2.5,a=b\r\n");
});

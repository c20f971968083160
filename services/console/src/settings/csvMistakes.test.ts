import { expect, it } from 'vitest';
import { readCsv } from './csv';
import { mistakesOfFile, mistakesOfText } from './csvMistakes';

const bytes = (text: string) => new TextEncoder().encode(text);

it('a table without mistakes has none', () => {
  const none = { refused: [], warnings: [] };
  expect(mistakesOfText('name,about\n"a","one, two\nthree ""four"""\nb,\n')).toEqual(none);
  expect(mistakesOfFile(bytes('\uFEFFnäme\r\n🪨\r\n'))).toEqual(none);
});

it('a quote that is not closed is refused with its line', () => {
  expect(mistakesOfText('a,b\n1,2\n3,"four\n5,6\n').refused[0]).toMatch(/^Line 3: a quote/);
});

it('a file without a header is refused', () => {
  expect(mistakesOfText('').refused).toHaveLength(1);
  expect(mistakesOfText('\n\n').refused).toHaveLength(1);
  expect(mistakesOfText('\n,,\n1,2,3\n').refused).toEqual(['Line 2: the header has no names']);
});

it('rows that are longer than the header are named by their lines', () => {
  const text = `a,b\n${'"x\ny",2\n'}1,2,3\n1,2\n${'1,2,3\n'.repeat(6)}`;
  expect(mistakesOfText(text)).toEqual({
    refused: [],
    warnings: ['Lines 4, 6, 7, 8, 9 and 2 more lines: more values than the header has columns (2)'],
  });
});

it('names of the header that are empty or there twice are warnings', () => {
  expect(mistakesOfText('a,,a\n').warnings).toEqual([
    'Line 1: a column of the header has no name',
    'Line 1: the column "a" is there twice',
  ]);
});

it('bytes that are not UTF-8 are named by their line', () => {
  const file = new Uint8Array([...bytes('a\nok\n'), 0x67, 0xfc, 0x6e, 10, ...bytes('ok')]);
  expect(mistakesOfFile(file).warnings).toEqual([
    'Line 3: bytes that are not UTF-8; they become the character \uFFFD',
  ]);
});

it('rows know the lines where they begin', () =>
  expect(readCsv('a\n\n"b\nc"\nd').rows.map(({ line }) => line)).toEqual([1, 3, 5]));

it('a table with another separator than commas is said to have one column', () => {
  const warning = (text: string) => mistakesOfText(text).warnings;
  const semicolons = 'The columns seem to be separated by ";", but Karst expects commas';
  expect(warning('name;price\na;1,5\nb;2\n')).toEqual([semicolons]);
  expect(warning('name\tprice\na\t1\n')[0]).toContain('separated by tabs');
  // Of one column, and of commas.
  expect(warning('name\na;b\n')).toEqual([]);
  expect(warning('name;title\na\n')).toEqual([]);
  expect(warning('a;b,c\n1;2,3\n')).toEqual([]);
});

import { expect, it } from 'vitest';
import { highlighter } from './highlight';

const marked = (words: string[], text: string) =>
  highlighter(words)(text)
    .filter((piece) => piece.marked)
    .map((piece) => piece.text);

it('marks whatever the case', () =>
  expect(marked(['error'], 'ERROR: an Error, error')).toEqual(['ERROR', 'Error', 'error']));

it('marks nothing inside a longer word', () =>
  expect(marked(['500', 'err'], 'took 15003 ms, error 500')).toEqual(['500']));

it('prefers the longest word', () => expect(marked(['a', 'a b'], 'a b a')).toEqual(['a b', 'a']));

it('treats words as text, not as a pattern', () =>
  expect(marked(['a.b', 'f(x)', '[1]', 'x-y', 'a/b'], 'a.b axb f(x) [1] x-y a/b')).toEqual([
    'a.b',
    'f(x)',
    '[1]',
    'x-y',
    'a/b',
  ]));

it('an asterisk marks the rest of the word', () =>
  expect(marked(['fail*'], 'failed and failure, not refail')).toEqual(['failed', 'failure']));

it('words of nothing but asterisks mark nothing', () =>
  expect(marked(['*', '', ' '], 'anything')).toEqual([]));

it.each(['<b>error</b>', '', 'İstanbul ERROR ß', '🪨 error 🪨'])(
  'pieces of %j join to it',
  (text) =>
    expect(
      highlighter(['error', 'b', '🪨'])(text)
        .map((piece) => piece.text)
        .join(''),
    ).toBe(text),
);

import { expect, it } from 'vitest';
import { piecesOf, wordsOf } from './pattern';

const variables = (raw: string) =>
  piecesOf(raw)
    .filter((piece) => piece.isVariable)
    .map((piece) => piece.text);

it('numbers, times, addresses and ids are what differs', () => {
  expect(
    variables(
      '2026-11-26T10:00:00.123Z 10.0.0.1 GET /a status=200 id=0a1b2c3d4e5f6a7b took 3.5 ms',
    ),
  ).toEqual(['2026-11-26T10:00:00.123Z', '10.0.0.1', '200', '0a1b2c3d4e5f6a7b', '3.5']);
});

it('the pieces are the text', () => {
  const raw = 'user=eve 12 <b>x</b>';
  expect(
    piecesOf(raw)
      .map((piece) => piece.text)
      .join(''),
  ).toBe(raw);
  expect(piecesOf('a'.repeat(5_000)).at(-1)?.text).toBe(' …');
});

it('words of a pattern are for a search', () => {
  expect(wordsOf('login failed for user 12 of login')).toEqual(['login', 'failed', 'user']);
});

import { expect, it } from 'vitest';
import { evaluate, holds } from './expression';

const values = new Map([
  ['job.resultCount', '12'],
  ['result.status', 'ok'],
  ['click.name2', 'host'],
  ['value', '5'],
  ['n', '0.12345'],
  ['path', 'a/b/c'],
]);
const lookup = (name: string) => values.get(name);
const lists = (name: string) => (name === 'many' ? ['w1', 'db', 'w2'] : undefined);

// The right sides are what the engine's `eval` gives for the same expressions; times have no decimals here.
it.each([
  ["'job.resultCount' > 0", true],
  ['$job.resultCount$ == 0', false],
  ['1 + 2 * 3', 7],
  ['(1 + 2) * 3', 9],
  ['10 % 4', 2],
  ['-2 + 5', 3],
  ['if($value$ > 3, "many", "few")', 'many'],
  ['case($value$ < 3, "a", $value$ < 9, "b", true(), "c")', 'b'],
  ['\'result.status\'=="ok"', true],
  ['$click.name2$ == "host" AND NOT isnull($value$)', true],
  ['round($n$, 2)', '0.12'],
  ['round(2.5)', 3],
  ['tostring(1234567, "commas")', '1,234,567'],
  ['tostring(3661, "duration")', '01:01:01'],
  ['mvindex(split($path$, "/"), -1)', 'c'],
  ['if($value$ > 3, "many", sha512("few"))', 'many'],
  ['mvjoin(mvfilter(match(many, "^w")), "-")', 'w1-w2'],
  ['mvjoin(mvappend("a", "b"), "-")', 'a-b'],
  ['replace("2026-01-02", "(\\d+)-(\\d+)", "\\2/\\1")', '01/2026-02'],
  ['match($path$, "^a/")', true],
  ['like("karst", "k%t")', true],
  ['len("$path$")', 5],
  ['"x" . $value$ . "y"', 'x5y'],
  ['coalesce($none$, "d")', 'd'],
  ['isnull($none$)', true],
  ['upper(substr("abcdef", 2, 3))', 'BCD'],
  ['"b" IN ("a", "b")', true],
  ['1/0', null],
  ['max(1, 5, 3)', 5],
  ['strftime(0, "%s")', '0'],
  ['relative_time(120, "-1m@m")', 60],
  ['strptime("1970-01-01 00:01 +0000", "%Y-%m-%d %H:%M %z")', 60],
])('%s', (text, expected) => expect(evaluate(text, lookup, lists)).toEqual(expected));

it('names what it does not know', () => {
  expect(() => evaluate('sha256("a")', lookup)).toThrow('sha256');
  expect(() => evaluate('1 +', lookup)).toThrow();
});

it('a condition that cannot be computed does not hold', () => {
  expect(holds('constructor("a")', lookup)).toBe(false);
  expect(holds('toString', lookup)).toBe(false);
});

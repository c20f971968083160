import { expect, it, vi } from 'vitest';
import { isShown, substitute, TokenStore, tokensIn } from './tokens';

const values = new Map([
  ['host', 'web-01'],
  ['path', 'a "b" \\c'],
  ['empty', ''],
  ['time.earliest', '-24h@h'],
  ['row.Source IP', '10.0.0.1'],
]);
const lookup = (name: string) => values.get(name);
const text = (template: string) => substitute(template, lookup).text;

it.each([
  ['index=main host=$host$', 'index=main host=web-01'],
  ['path=$path|s$', 'path="a \\"b\\" \\\\c"'],
  ['<b>$path|h$</b>', '<b>a &quot;b&quot; \\c</b>'],
  ['q=$path|u$', 'q=a%20%22b%22%20%5Cc'],
  ['$path|n$', 'a "b" \\c'],
  ['cost: $$5', 'cost: $5'],
  ['[$empty$]', '[]'],
  ['$time.earliest$', '-24h@h'],
  ['ip=$row.Source IP$', 'ip=10.0.0.1'],
  ['rex "^a$" | eval x="$host$"', 'rex "^a$" | eval x="web-01"'],
  ['regex _raw="x$|y$"', 'regex _raw="x$|y$"'],
])('%s', (template, expected) => expect(text(template)).toBe(expected));

it('names what is not defined and leaves it as it is', () => {
  const found = substitute('$host$ $nobody$ $no.where|s$', lookup);
  expect(found).toEqual({ text: 'web-01 $nobody$ $no.where|s$', missing: ['nobody', 'no.where'] });
});

it('finds the tokens of a text', () => expect(tokensIn('$a$ $$ $b|s$ $a$')).toEqual(['a', 'b']));

it('what an input shows is not searched with before it is submitted', () => {
  const store = new TokenStore(new Map([['env:user', 'ann']]));
  const heard = vi.fn();
  store.subscribe(heard);
  store.set('host', 'a', false);
  expect([store.default('host'), store.submitted('host')]).toEqual(['a', undefined]);
  expect(store.isPending).toBe(true);
  store.submit();
  expect([store.submitted('host'), store.isPending]).toEqual(['a', false]);
  expect(store.submitted('env:user')).toBe('ann');
  expect(heard).toHaveBeenCalledTimes(2);
});

it('several changes are heard of once, and none is not heard of', () => {
  const store = new TokenStore();
  const heard = vi.fn();
  store.subscribe(heard);
  store.batch(() => {
    store.set('a', '1', true);
    store.set('b', '2', true);
  });
  store.set('a', '1', true);
  expect(heard).toHaveBeenCalledTimes(1);
});

it('only whether tokens are defined decides what is shown', () => {
  expect(isShown(['empty'], [], lookup)).toBe(true);
  expect(isShown(['host', 'nobody'], [], lookup)).toBe(false);
  expect(isShown([], ['nobody'], lookup)).toBe(true);
  expect(isShown([], ['host', 'nobody'], lookup)).toBe(false);
});

import { expect, it } from 'vitest';
import language from '../../query/language.json';
import { EFFECTS, effectOf, isReport } from './effects';

it('lists commands that there are', () => {
  expect([...EFFECTS.keys()].filter((name) => !language.commands.includes(name))).toEqual([]);
});

it('knows a command by its first word', () => {
  expect([effectOf('Dedup host'), effectOf('eval dedup=1'), effectOf('')]).toEqual([
    'events',
    null,
    null,
  ]);
  expect(['sirare a', 'tstats count', 'table a'].map(isReport)).toEqual([true, true, false]);
});

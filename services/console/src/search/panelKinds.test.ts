import { expect, it } from 'vitest';
import { kindOf, targetOf } from './panelKinds';

it('a panel is drawn as its commands suggest', () => {
  expect(kindOf(null)).toBe('event');
  expect(kindOf('timechart count by host')).toBe('line');
  expect(kindOf('stats count | chart max(x) over y')).toBe('column');
  expect(kindOf('stats count by chart')).toBe('table');
});

it('the only dashboard of an app is chosen', () => {
  const targets = [targetOf(null, []), targetOf(null, ['a']), targetOf(null, ['a', 'b'])];
  expect(targets).toEqual([null, 'a', null]);
  expect(targetOf('b', ['a', 'b'])).toBe('b');
});

import { expect, it } from 'vitest';
import { kindOf } from './panelKinds';

it('a panel is drawn as its commands suggest', () => {
  expect(kindOf(null)).toBe('event');
  expect(kindOf('timechart count by host')).toBe('line');
  expect(kindOf('stats count | chart max(x) over y')).toBe('column');
  expect(kindOf('stats count by chart')).toBe('table');
});

import { expect, it } from 'vitest';
import { begun, changed, redone, undone } from './history';

it('undo and redo go through the versions, and what is typed is one step', () => {
  let history = changed(begun('a'), 'b');
  for (const text of ['bc', 'bcd']) history = changed(history, text, true);
  expect(undone(history).text).toBe('b');
  expect(undone(undone(history)).text).toBe('a');
  expect(undone(undone(undone(history))).text).toBe('a');
  expect(redone(undone(history)).text).toBe('bcd');
  expect(redone(changed(undone(history), 'x')).text).toBe('x');
  expect(changed(history, 'bcd')).toBe(history);
});

import { expect, it } from 'vitest';
import { isPlainClick } from './plainClick';

it('a click on the text of an event opens it, unless text is selected or a button is hit', () => {
  const text = { closest: () => null };
  const button = { closest: () => ({}) as Element };
  expect(isPlainClick(text, { isCollapsed: true })).toBe(true);
  expect(isPlainClick(text, null)).toBe(true);
  expect(isPlainClick(text, { isCollapsed: false })).toBe(false);
  expect(isPlainClick(button, { isCollapsed: true })).toBe(false);
});

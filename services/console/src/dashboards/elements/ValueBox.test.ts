import { createElement } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';
import { ValueBox } from './ValueBox';

const textOf = (onClick?: () => void) =>
  renderToStaticMarkup(
    createElement(ValueBox, {
      style: {},
      label: 'Blocked',
      testId: 'single',
      onClick,
      // biome-ignore lint/correctness/noChildrenProp: the component needs them among its properties
      children: ['0', createElement('span', { key: 'under' }, 'Executions (Total)')],
    }),
  );

it('the name of a value that is a button begins with what it is of, and has all that is seen', () => {
  const button = textOf(() => {});
  expect(button).toMatch(/^<button/);
  expect(button).not.toContain('aria-label');
  const text = button.replace(/<[^>]*>/g, ' ').replace(/\s+/g, ' ');
  expect(text.trim()).toBe('Blocked 0 Executions (Total)');
});

it('a value that is no button has no second title', () => {
  expect(textOf()).not.toContain('Blocked');
});

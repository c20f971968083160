import { MantineContext, MantineProvider, useComputedColorScheme } from '@mantine/core';
import { createElement, useContext } from 'react';
import { renderToStaticMarkup } from 'react-dom/server';
import { expect, it } from 'vitest';
import { Scheme } from './Scheme';

/** The colours below a part of a dark page, and whether a provider of its own is around them. */
function below(scheme: 'light' | 'dark' | null): { isProvided: boolean; computed: string } {
  const found = { isProvided: false, computed: '' };
  let around: unknown = null;
  const Outside = () => {
    around = useContext(MantineContext);
    const props = { scheme, selector: '[data-part]', children: createElement(Inside) };
    return createElement(Scheme, props);
  };
  const Inside = () => {
    found.isProvided = useContext(MantineContext) !== around;
    found.computed = useComputedColorScheme('light', { getInitialValueInEffect: false });
    return null;
  };
  const page = createElement(MantineProvider, { forceColorScheme: 'dark' }, createElement(Outside));
  renderToStaticMarkup(page);
  return found;
}

it('a part without colours of its own has those around it, below a provider that stays when it gets some', () => {
  expect(below(null)).toEqual({ isProvided: true, computed: 'dark' });
  expect(below('light')).toEqual({ isProvided: true, computed: 'light' });
});

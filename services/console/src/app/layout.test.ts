/** Rules of the layout that only a browser shows: here, that the style sheets have them. */

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const css = (path: string) => readFileSync(`src/${path}.module.css`, 'utf8').replace(/\s+/g, ' ');

it('a long name of an app or a user is cut in the bar', () => {
  const bar = css('app/TopBar');
  expect(bar).toMatch(/\.bar \.app \{[^}]*max-width:/);
  expect(bar).toMatch(/\.app :global\(\.mantine-Button-label\),[^}]*text-overflow: ellipsis/);
});

it('long names do not widen the cards of the home page', () => {
  const home = css('home/HomePage');
  expect(home).toMatch(/\.card, \.first \{[^}]*minmax\(0, 1fr\)/);
  expect(home).toMatch(/\.card ul \{[^}]*minmax\(0, 1fr\)/);
});

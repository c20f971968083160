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

it('a print has the view alone, and all of it', () => {
  for (const [path, name] of [
    ['app/TopBar', 'bar'],
    ['app/Rail', 'rail'],
  ] as const) {
    const print = css(path).split('@media print')[1] ?? '';
    expect(print, path).toMatch(new RegExp(`\\.${name}[^}]*\\{ display: none`));
  }
  expect(css('app/Frame').split('@media print')[1] ?? '').toMatch(/\.main \{ overflow: visible/);
});

it('the text below the block of a search that waits is whole, in as many lines as it needs', () => {
  const states = css('dashboards/elements/SearchStates');
  expect(states).toMatch(/\.loading \.block \{ flex: 1; min-height: 0/);
  expect(states).toMatch(/\.loading \.hint \{ flex: none/);
});

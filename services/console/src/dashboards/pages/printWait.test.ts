import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { printWait } from './printWait';

it('a dashboard is printed when its searches have ended, and what they show is drawn', () => {
  const isReady = printWait();
  const looks: [number, number, number][] = [
    [0, 2, 0],
    [2, 2, 0],
    // What has ended shows an element with another search, and then its chart.
    [2, 3, 0],
    [3, 3, 1],
    [3, 3, 0],
    [3, 3, 0],
  ];
  expect(looks.map(([done, all, blank]) => isReady({ done, all }, blank))).not.toContain(true);
  expect(isReady({ done: 3, all: 3 }, 0)).toBe(true);
});

it('a drawing that does not come is not waited for, a search that runs is', () => {
  const isReady = printWait();
  const after = (done: number) =>
    Array.from({ length: 60 }, () => isReady({ done, all: 1 }, 1)).includes(true);
  expect(after(0)).toBe(false);
  expect(after(1)).toBe(true);
});

it('a dashboard without searches is printed as it is', () => {
  const isReady = printWait();
  const looks = [0, 1, 2].map(() => isReady({ done: 0, all: 0 }, 0));
  expect(looks.at(-1)).toBe(true);
});

const css = (path: string) =>
  readFileSync(`src/dashboards/${path}.module.css`, 'utf8').replace(/\s+/g, ' ');
const print = (path: string) => css(path).split('@media print')[1] ?? '';

it('a print has the colours of blocks and cells, and all columns of tables', () => {
  expect(print('pages/DashboardPage')).toMatch(/print-color-adjust: exact/);
  expect(print('pages/DashboardPage')).toMatch(/\.printing[^}]*\{ display: none/);
  expect(print('pages/DashboardPage')).toMatch(/canvas[^}]*max-width: 100% !important/);
  expect(print('elements/TableElement')).toMatch(/\.scroll \{[^}]*overflow: visible/);
  expect(print('elements/TableElement')).toMatch(/td \{[^}]*overflow-wrap: anywhere/);
});

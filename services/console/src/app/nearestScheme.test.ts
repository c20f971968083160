import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { nearestScheme } from './nearestScheme';

const [LIGHT, DARK] = ["[data-mantine-color-scheme='light']", "[data-mantine-color-scheme='dark']"];
const IN_DARK = `:where(:not(${DARK} ${LIGHT} *), ${DARK} ${LIGHT} ${DARK} *)`;
const IN_LIGHT = `:where(:not(${LIGHT} ${DARK} *), ${LIGHT} ${DARK} ${LIGHT} *)`;

it.each([
  [`${DARK} .a[data-variant='x']`, `${DARK} .a[data-variant='x']${IN_DARK}`],
  [`:where(${LIGHT}) .a:where(:hover)`, `:where(${LIGHT}) .a:where(:hover)${IN_LIGHT}`],
  [`:where(${DARK}) .a::before`, `:where(${DARK}) .a${IN_DARK}::before`],
])('a rule for a scheme applies where that is the nearest one: %s', (selector, expected) => {
  expect(nearestScheme(selector)).toBe(expected);
});

it.each([DARK, `:root${DARK}`, '[data-mantine-color-scheme] .a', '.a:hover'])(
  'other selectors stay: %s',
  (selector) => {
    expect(nearestScheme(selector)).toBe(selector);
  },
);

it('no rule of the component library for a scheme is left out', () => {
  const styles = 'node_modules/@mantine/core/styles';
  const rules = readdirSync(styles)
    .filter((file) => file.endsWith('.css') && !file.endsWith('.layer.css'))
    .flatMap((file) => readFileSync(`${styles}/${file}`, 'utf8').split(/[{};]|\*\//))
    // Of the elements that have a scheme themselves: variables of the whole page.
    .filter((text) => /color-scheme=/.test(text) && !/:root|:host/.test(text));
  expect(rules.length).toBeGreaterThan(100);
  const left = rules
    .flatMap((text) => text.split(/,(?![^(]*\))/))
    .map((selector) => selector.trim())
    .filter(
      (selector) => selector.includes('color-scheme=') && nearestScheme(selector) === selector,
    );
  expect(left).toEqual([]);
});

it('the build changes the rules', () => {
  expect(readFileSync('vite.config.ts', 'utf8')).toContain('plugins: [nearestSchemes]');
});

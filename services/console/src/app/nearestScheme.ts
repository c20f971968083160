/**
 * Rules of the component library for one colour scheme apply below the nearest element that has a scheme.
 *
 * The library writes `[data-mantine-color-scheme='dark'] .input`, which also fits in a light dashboard of a dark
 * console, with the same weight as the rule for light: the one that comes last wins. The build adds a condition to
 * these selectors that adds no weight. It is right for three schemes within each other: console, dashboard, and the
 * preview of a dashboard in its editor.
 */

const OF_SCHEME = /^(?::where\()?\[data-mantine-color-scheme=['"]?(light|dark)['"]?\]\)?\s+(?=\S)/;

const below = (...schemes: string[]) =>
  `${schemes.map((scheme) => `[data-mantine-color-scheme='${scheme}']`).join(' ')} *`;

/** A selector for a scheme with the condition; others as they are. */
export function nearestScheme(selector: string): string {
  const scheme = OF_SCHEME.exec(selector)?.[1];
  if (scheme === undefined) return selector;
  const other = scheme === 'dark' ? 'light' : 'dark';
  const isNearest = `:where(:not(${below(scheme, other)}), ${below(scheme, other, scheme)})`;
  // A pseudo-element ends its selector.
  const pseudo = selector.indexOf('::');
  const end = pseudo === -1 ? selector.length : pseudo;
  return selector.slice(0, end) + isNearest + selector.slice(end);
}

interface Styles {
  walkRules(change: (rule: { selectors: string[] }) => void): void;
}

/** For PostCSS, once for a file. */
export const nearestSchemes = {
  postcssPlugin: 'nearest-scheme',
  Once(styles: Styles) {
    styles.walkRules((rule) => {
      if (!rule.selectors.some((selector) => OF_SCHEME.test(selector))) return;
      rule.selectors = rule.selectors.map(nearestScheme);
    });
  },
};

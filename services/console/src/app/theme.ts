/** Sizes, fonts and the accent of every component; colours of our own parts are in tokens.css. */

import { createTheme, type MantineColorsTuple } from '@mantine/core';

const spring: MantineColorsTuple = [
  '#e8f8f5',
  '#d3efe9',
  '#a6ded3',
  '#75ccbb',
  '#4ebda7',
  '#33a690',
  '#1c8a77',
  '#0f766e',
  '#0b5f59',
  '#084944',
];

/** Greys of the dark scheme, in step with tokens.css: text first, page last. */
const dark: MantineColorsTuple = [
  '#dde3e7',
  '#b6c0c7',
  '#8f9ba3',
  '#6f7c85',
  '#414c54',
  '#2c343a',
  '#222930',
  '#1b2024',
  '#171b1f',
  '#14181b',
];

export const SANS =
  'Inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
export const MONO =
  'ui-monospace, "JetBrains Mono", "SF Mono", SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';

export const theme = createTheme({
  primaryColor: 'spring',
  primaryShade: { light: 7, dark: 7 },
  colors: { spring, dark },
  respectReducedMotion: true,
  fontFamily: SANS,
  fontFamilyMonospace: MONO,
  defaultRadius: 'sm',
  cursorType: 'pointer',
  fontSizes: { xs: '11.5px', sm: '12.5px', md: '13.5px', lg: '16px', xl: '20px' },
  components: {
    Button: { defaultProps: { fw: 500 } },
    InputWrapper: {
      styles: {
        description: { color: 'var(--muted)', fontSize: '12px' },
        error: { fontSize: '12px' },
      },
    },
    ActionIcon: { defaultProps: { variant: 'subtle', color: 'gray' } },
    Tooltip: { defaultProps: { openDelay: 400, withArrow: true, fz: 'xs' } },
    Popover: { defaultProps: { shadow: 'md', transitionProps: { duration: 60 } } },
    Menu: { defaultProps: { shadow: 'md', transitionProps: { duration: 60 } } },
  },
});

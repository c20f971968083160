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

export const SANS =
  'Inter, ui-sans-serif, system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif';
export const MONO =
  'ui-monospace, "JetBrains Mono", "SF Mono", SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace';

export const theme = createTheme({
  primaryColor: 'spring',
  primaryShade: { light: 7, dark: 6 },
  colors: { spring },
  fontFamily: SANS,
  fontFamilyMonospace: MONO,
  defaultRadius: 'sm',
  cursorType: 'pointer',
  fontSizes: { xs: '11.5px', sm: '12.5px', md: '13.5px', lg: '16px', xl: '20px' },
  components: {
    Tooltip: { defaultProps: { openDelay: 400, withArrow: true, fz: 'xs' } },
    Popover: { defaultProps: { shadow: 'md' } },
    Menu: { defaultProps: { shadow: 'md' } },
  },
});

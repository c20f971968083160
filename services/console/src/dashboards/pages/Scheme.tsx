/** A part of the page with the colours of a theme, whatever those around it are. */

import { MantineProvider } from '@mantine/core';
import type { ReactNode } from 'react';
import { theme } from '../../app/theme';

interface SchemeProps {
  /** Null for the colours around it. */
  scheme: 'light' | 'dark' | null;
  /** Of the one element below it that has the scheme as its `data-mantine-color-scheme`. */
  selector: string;
  children: ReactNode;
}

export function Scheme({ scheme, selector, children }: SchemeProps) {
  if (scheme === null) return children;
  return (
    <MantineProvider
      theme={theme}
      forceColorScheme={scheme}
      cssVariablesSelector={selector}
      getRootElement={() => document.querySelector<HTMLElement>(selector) ?? undefined}
    >
      {children}
    </MantineProvider>
  );
}

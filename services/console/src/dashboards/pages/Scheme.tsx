/** A part of the page with the colours of a theme, whatever those around it are. */

import { MantineProvider, useComputedColorScheme } from '@mantine/core';
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
  const around = useComputedColorScheme('light', { getInitialValueInEffect: false });
  const isOwn = scheme !== null;
  // A provider in any case: with one that comes and goes, all that is below it would begin anew.
  return (
    <MantineProvider
      theme={theme}
      forceColorScheme={scheme ?? around}
      withCssVariables={isOwn}
      withGlobalClasses={isOwn}
      cssVariablesSelector={selector}
      getRootElement={() =>
        (isOwn ? document.querySelector<HTMLElement>(selector) : null) ?? undefined
      }
    >
      {children}
    </MantineProvider>
  );
}

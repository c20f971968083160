/** What of a panel stands side by side: single values that follow each other, as in Splunk. */

import type { DashboardElement } from '../model/types';

/** The elements in their order; each run but those of single values is one element. */
export function runsOf<T extends Pick<DashboardElement, 'kind'>>(elements: readonly T[]): T[][] {
  const runs: T[][] = [];
  for (const element of elements) {
    const last = runs.at(-1);
    if (element.kind === 'single' && last?.[0]?.kind === 'single') last.push(element);
    else runs.push([element]);
  }
  return runs;
}

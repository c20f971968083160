/** The focus after a dialog: where it was before, else the content of the page. */

import { useEffect, useState } from 'react';

/** The part that has the focus; of an item of a menu, the button of the menu, which stays. */
function opener(): Element | null {
  const focused = document.activeElement;
  const button = focused?.closest('[role="menu"]')?.getAttribute('aria-labelledby');
  return (button && document.getElementById(button)) || focused;
}

/**
 * Gives the focus back when a dialog is unmounted: Mantine does so only for one that is closed and stays mounted.
 * Without it, the Tab key would begin at the top of the page, and letters would have no target.
 */
export function useFocusBack(): void {
  const [before] = useState(opener);
  useEffect(
    () => () => {
      const focused = document.activeElement;
      if (focused !== null && focused !== document.body) return;
      const isThere = before instanceof HTMLElement && before.isConnected;
      const back = isThere && before !== document.body ? before : document.getElementById('main');
      back?.focus({ preventScroll: true });
    },
    [before],
  );
}

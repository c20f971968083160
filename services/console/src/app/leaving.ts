/**
 * Holds a page back that has unsaved changes. `navigate` asks with `leave` before it goes to another path, and
 * `watchHistory` after Back and Forward; the view that has the changes listens with `holdBack`, and gets a function
 * that goes on once the user agrees.
 * Leaves addresses that are loaded anew, and the closing of the tab, to `beforeunload`.
 */

const LEAVE = 'karst:leave';

/** Does what leaves the page. */
export type Go = () => void;

/** The parts of a window that are used. */
export interface Page extends EventTarget {
  location: { href: string; pathname: string };
  history: { pushState(data: unknown, unused: string, url: string): void; back(): void };
}

/** Whether a view holds the page back; it calls `go` if the user agrees. */
function isHeld(go: Go, page: EventTarget): boolean {
  return !page.dispatchEvent(new CustomEvent<Go>(LEAVE, { cancelable: true, detail: go }));
}

/** Goes at once, or when the view that holds the page back says so. */
export function leave(go: Go, page: EventTarget = window): void {
  if (!isHeld(go, page)) go();
}

/** Is asked before another path is shown, until the answer is called. */
export function holdBack(ask: (go: Go) => void, page: EventTarget = window): () => void {
  const asked = (event: Event) => {
    event.preventDefault();
    ask((event as CustomEvent<Go>).detail);
  };
  page.addEventListener(LEAVE, asked);
  return () => page.removeEventListener(LEAVE, asked);
}

/**
 * Asks before the router hears of Back and Forward. Has to be called before the router begins to listen: browsers
 * call the listeners of a window in the order in which they were added, also those that capture.
 */
export function watchHistory(page: Page = window): void {
  let here = page.location.href;
  let isAgreed = false;
  const moved = () => {
    here = page.location.href;
  };
  // The browser has already gone: the address comes back as a new entry, behind which is the one that was asked for.
  const popped = (event: Event) => {
    const isElsewhere = page.location.pathname !== new URL(here).pathname;
    const goOn = () => {
      isAgreed = true;
      page.history.back();
    };
    if (isElsewhere && !isAgreed && isHeld(goOn, page)) {
      event.stopImmediatePropagation();
      page.history.pushState(null, '', here);
      return;
    }
    isAgreed = false;
    moved();
  };
  page.addEventListener('popstate', popped);
  // The router tells of these two by events.
  page.addEventListener('pushState', moved);
  page.addEventListener('replaceState', moved);
}

/** Prints a dashboard as a whole: waits until all of its searches have ended, and all is drawn. */

import { Button } from '@mantine/core';
import { useEffect, useRef, useState, useSyncExternalStore } from 'react';
import type { DashboardRun } from '../runtime/page';
import styles from './DashboardPage.module.css';
import { printWait } from './printWait';

/** Milliseconds between two looks at the page. */
const LOOK_EVERY = 250;

/** Drawings whose library is loaded still. */
const BLANK =
  '[data-testid="plot"]:empty, [data-testid="custom"]:empty, [data-testid="map"] [role="status"]';

interface PrintingProps {
  run: DashboardRun;
  box: React.RefObject<HTMLElement | null>;
  onEnd: () => void;
}

export function Printing({ run, box, onEnd }: PrintingProps) {
  useSyncExternalStore(run.manager.subscribeAll, () => run.manager.version);
  const [isAsked, setAsked] = useState(false);
  const { done, all } = run.manager.progress();
  const end = useRef(onEnd);
  end.current = onEnd;

  useEffect(() => {
    const isReady = printWait();
    const look = () => {
      const blank = box.current?.querySelectorAll(BLANK).length ?? 0;
      if (!isReady(run.manager.progress(), blank)) return;
      clearInterval(timer);
      setAsked(true);
    };
    const timer = setInterval(look, LOOK_EVERY);
    return () => clearInterval(timer);
  }, [run, box]);

  useEffect(() => {
    if (!isAsked) return;
    // Some browsers return at once; the print has ended when they say so.
    const ended = () => end.current();
    window.addEventListener('afterprint', ended);
    // The dialog holds up the page: not while it is being drawn.
    const timer = setTimeout(() => window.print());
    return () => {
      clearTimeout(timer);
      window.removeEventListener('afterprint', ended);
    };
  }, [isAsked]);

  return (
    <div className={styles.printing} role="status">
      <span>{`Preparing to print: ${done} of ${all} searches done`}</span>
      <Button size="compact-xs" variant="default" onClick={() => setAsked(true)}>
        Print now
      </Button>
      <Button size="compact-xs" variant="subtle" onClick={onEnd}>
        Cancel
      </Button>
    </div>
  );
}

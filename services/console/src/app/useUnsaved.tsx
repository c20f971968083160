/** Asks before a view with unsaved changes is left: by a link, a key, Back, or its own button. */

import { useCallback, useEffect, useRef, useState } from 'react';
import { ConfirmDialog } from './ConfirmDialog';
import { type Go, holdBack } from './leaving';

interface Unsaved {
  /** Asks, then does what leaves the view. */
  ask: (go: Go) => void;
  /** Holds nothing back from now on: after a save, before the view is drawn again. */
  release: () => void;
  /** The question, outside of forms: a submission would reach them. Null while nothing is asked. */
  question: React.JSX.Element | null;
}

/** `what`: a sentence that says what is not saved. */
export function useUnsaved(isChanged: boolean, what: string): Unsaved {
  const [leaving, setLeaving] = useState<Go | null>(null);
  const releasing = useRef<Go | null>(null);
  const ask = useCallback((go: Go) => setLeaving(() => go), []);
  const release = useCallback(() => {
    releasing.current?.();
    releasing.current = null;
  }, []);
  useEffect(() => {
    if (!isChanged) return;
    const warn = (event: BeforeUnloadEvent) => event.preventDefault();
    window.addEventListener('beforeunload', warn);
    const letGo = holdBack(ask);
    releasing.current = () => {
      window.removeEventListener('beforeunload', warn);
      letGo();
    };
    return release;
  }, [isChanged, ask, release]);
  const question = leaving && (
    <ConfirmDialog
      title="Unsaved changes"
      action="Leave without saving"
      isDangerous
      testId="leave"
      onConfirm={async () => leaving()}
      onClose={() => setLeaving(null)}
    >
      <p>{what} They are lost when you leave.</p>
    </ConfirmDialog>
  );
  return { ask, release, question };
}

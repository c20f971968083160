/** A text that is being typed: told once the typing rests, or the field is left. */

import { useCallback, useEffect, useRef, useState } from 'react';

/** Milliseconds without a key. */
const QUIET = 700;

interface Draft {
  draft: string;
  change: (text: string) => void;
  /** Tells what is typed now. */
  flush: () => void;
}

export function useDraft(value: string, tell: (text: string) => void): Draft {
  const [draft, setDraft] = useState(value);
  const [known, setKnown] = useState(value);
  const latest = useRef({ draft, tell });
  latest.current.tell = tell;
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  // Changed from elsewhere: by undo, or another panel is chosen.
  if (value !== known) {
    setKnown(value);
    // Blanks at the end are what is being typed: the text is kept without them.
    if (value.trim() !== draft.trim()) {
      setDraft(value);
      latest.current.draft = value;
    }
  }
  const stop = useCallback(() => {
    if (timer.current !== null) clearTimeout(timer.current);
    timer.current = null;
  }, []);
  useEffect(() => stop, [stop]);
  const flush = () => {
    if (timer.current === null) return;
    stop();
    latest.current.tell(latest.current.draft);
  };
  const change = (text: string) => {
    setDraft(text);
    latest.current.draft = text;
    stop();
    timer.current = setTimeout(flush, QUIET);
  };
  return { draft, change, flush };
}

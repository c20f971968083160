/**
 * Several fields that are right only together: what is typed is kept, and written once none of them has a
 * mistake. What changes elsewhere, as by undo, takes the place of what is typed.
 */

import { useState } from 'react';

export function useWhole<T>(
  written: T,
  hasMistake: (whole: T) => boolean,
  write: (whole: T) => void,
): [whole: T, change: (next: T) => void] {
  const known = JSON.stringify(written);
  const [draft, setDraft] = useState({ known, whole: written });
  const whole = draft.known === known ? draft.whole : written;
  const change = (next: T) => {
    setDraft({ known, whole: next });
    if (!hasMistake(next)) write(next);
  };
  return [whole, change];
}

/** Suggestions for the text being typed; silent when the server has none or does not complete. */

import { useCallback, useEffect, useRef, useState } from 'react';
import type { KarstClient } from '../api/client';
import type { Suggestion } from '../api/types';

const DELAY = 120;

export interface Completion {
  suggestions: Suggestion[];
  activeIndex: number;
  active: Suggestion | null;
  isOpen: boolean;
  ask: (text: string, cursor: number) => void;
  move: (by: 1 | -1) => void;
  close: () => void;
}

export function useCompletion(client: KarstClient): Completion {
  const [suggestions, setSuggestions] = useState<Suggestion[]>([]);
  const [activeIndex, setActiveIndex] = useState(-1);
  const pending = useRef<{ timer: number; controller: AbortController } | null>(null);

  const close = useCallback(() => {
    if (pending.current) {
      clearTimeout(pending.current.timer);
      pending.current.controller.abort();
      pending.current = null;
    }
    setSuggestions([]);
    setActiveIndex(-1);
  }, []);

  const ask = useCallback(
    (text: string, cursor: number) => {
      if (pending.current) {
        clearTimeout(pending.current.timer);
        pending.current.controller.abort();
      }
      const controller = new AbortController();
      const timer = window.setTimeout(async () => {
        const found = await client.complete(text, cursor, controller.signal);
        if (controller.signal.aborted) return;
        setSuggestions(found.slice(0, 12));
        setActiveIndex(-1);
      }, DELAY);
      pending.current = { timer, controller };
    },
    [client],
  );

  const move = useCallback(
    (by: 1 | -1) => {
      setActiveIndex((index) => {
        const next = index + by;
        if (next < 0) return suggestions.length - 1;
        return next % suggestions.length;
      });
    },
    [suggestions.length],
  );

  useEffect(() => close, [close]);

  const active = suggestions[activeIndex] ?? null;
  return { suggestions, activeIndex, active, isOpen: suggestions.length > 0, ask, move, close };
}

import { type RefObject, useEffect, useRef, useState } from 'react';
import { useIsPrinted } from '../PrintContext';

/** Whether an element is, or has been, within one screen of what is seen. A print has all of them. */
export function useInView<T extends Element>(): [RefObject<T | null>, boolean] {
  const element = useRef<T>(null);
  const [isNear, setNear] = useState(false);
  const isPrinted = useIsPrinted();
  useEffect(() => {
    if (isPrinted) setNear(true);
  }, [isPrinted]);
  useEffect(() => {
    if (!element.current || isNear) return;
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some((entry) => entry.isIntersecting)) setNear(true);
      },
      // The margin counts for the part of the page that scrolls only.
      { root: element.current.closest('#main'), rootMargin: '100% 0%' },
    );
    observer.observe(element.current);
    return () => observer.disconnect();
  }, [isNear]);
  return [element, isNear || isPrinted];
}

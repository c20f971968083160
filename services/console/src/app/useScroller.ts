import { useEffect, useState } from 'react';

/** The part of the frame that scrolls, for lists that draw only what is seen. */
export const scroller = (): HTMLElement | null => document.getElementById('main');

/** How far below the beginning of the scrolled content an element stands. */
export function useScrollMargin(element: HTMLElement | null): number {
  const [margin, setMargin] = useState(0);
  useEffect(() => {
    const around = scroller();
    if (!element || !around) return;
    const measure = () => {
      const next = Math.round(
        element.getBoundingClientRect().top - around.getBoundingClientRect().top + around.scrollTop,
      );
      setMargin((before) => (Math.abs(before - next) > 1 ? next : before));
    };
    measure();
    // Whatever grows or shrinks above moves the element.
    const observer = new ResizeObserver(measure);
    observer.observe(around);
    for (const child of around.children) observer.observe(child);
    return () => observer.disconnect();
  }, [element]);
  return margin;
}

/** The chart of an element: made with it, as wide as it is, and disposed with it. */

import { type EChartsType, init } from 'echarts/core';
import { type RefObject, useEffect, useRef, useState } from 'react';

interface Chart {
  element: RefObject<HTMLDivElement | null>;
  /** Null before the element is there. */
  chart: RefObject<EChartsType | null>;
  /** Of the element, in pixels; 0 until it is known. */
  width: number;
}

/** `listen` is called once, with the new chart: what it hears is to be kept in references. */
export function useChart(listen: (chart: EChartsType) => void): Chart {
  const element = useRef<HTMLDivElement>(null);
  const chart = useRef<EChartsType | null>(null);
  const first = useRef(listen);
  const [width, setWidth] = useState(0);
  useEffect(() => {
    if (!element.current) return;
    const created = init(element.current);
    chart.current = created;
    first.current(created);
    setWidth(element.current.clientWidth);
    const observer = new ResizeObserver(() => {
      created.resize();
      setWidth(element.current?.clientWidth ?? 0);
    });
    observer.observe(element.current);
    return () => {
      observer.disconnect();
      created.dispose();
      chart.current = null;
    };
  }, []);
  return { element, chart, width };
}

/** Whether a click on a chart asks for another tab. */
export function asksForTab(event: { event?: { event?: unknown } }): boolean {
  const mouse = event.event?.event as MouseEvent | undefined;
  return mouse?.ctrlKey === true || mouse?.metaKey === true;
}

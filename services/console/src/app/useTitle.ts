import { useEffect } from 'react';

/** The title of the tab, for as long as the part that says so is shown. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title === '' ? 'Karst' : `${title} · Karst`;
  }, [title]);
}

/** Results and pictures of an element as files. */

import type { ResultRows } from '../../api/types';
import { csvOf } from '../../search/exportRows';

function save(name: string, blob: Blob): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

const fileName = (title: string, suffix: string) =>
  `${
    title
      .replace(/[^\p{L}\p{N}]+/gu, '-')
      .replace(/^-+|-+$/g, '')
      .slice(0, 60) || 'results'
  }.${suffix}`;

export function saveCsv(title: string, rows: ResultRows): void {
  const text = csvOf({ fields: rows.fields, rows: rows.rows });
  save(fileName(title, 'csv'), new Blob([text], { type: 'text/csv' }));
}

/** The chart of an element as it is seen; false if there is none. */
export function savePng(title: string, element: Element): boolean {
  const canvas = element.querySelector('canvas');
  if (!canvas) return false;
  // The chart is transparent: what is behind it goes with it.
  const copy = document.createElement('canvas');
  copy.width = canvas.width;
  copy.height = canvas.height;
  const context = copy.getContext('2d');
  if (!context) return false;
  context.fillStyle = getComputedStyle(element).getPropertyValue('--surface').trim() || '#ffffff';
  context.fillRect(0, 0, copy.width, copy.height);
  context.drawImage(canvas, 0, 0);
  copy.toBlob((blob) => blob && save(fileName(title, 'png'), blob), 'image/png');
  return true;
}

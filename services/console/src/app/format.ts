/** Numbers for the eye. */

const GROUPED = new Intl.NumberFormat('en-US');
const COMPACT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

export const grouped = (value: number): string => GROUPED.format(value);
export const compact = (value: number): string => COMPACT.format(value);

export function percent(part: number, whole: number): string {
  if (whole <= 0) return '';
  const share = (100 * part) / whole;
  if (share > 0 && share < 0.1) return '<0.1%';
  return `${share >= 99.95 || share === 0 ? Math.round(share) : share.toFixed(1)}%`;
}

export const plural = (count: number, one: string): string =>
  `${grouped(count)} ${count === 1 ? one : `${one}${/(?:x|s)$/.test(one) ? 'es' : 's'}`}`;

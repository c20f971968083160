/** Numbers for the eye. */

import { grouped } from '../format/numbers';

export { grouped };

const SMALL = new Intl.NumberFormat('en-US', { maximumSignificantDigits: 3 });
const COMPACT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumFractionDigits: 1 });

const MONEY = new Intl.NumberFormat('en-US', {
  minimumFractionDigits: 2,
  maximumFractionDigits: 2,
});

/** Three digits behind the point; of a smaller number the first three that count. */
export const short = (value: number): string =>
  value !== 0 && Math.abs(value) < 0.1
    ? SMALL.format(value)
    : grouped(Math.round(value * 1000) / 1000);
export const compact = (value: number): string => COMPACT.format(value);

/** Dollars with the digits that matter; cheap searches cost fractions of a cent. */
export function dollars(amount: number): string {
  if (amount === 0) return '$0';
  if (amount >= 0.995) return `$${MONEY.format(amount)}`;
  return amount < 0.000_001 ? '<$0.000001' : `$${amount.toPrecision(2)}`;
}

export function percent(part: number, whole: number): string {
  if (whole <= 0) return '';
  const share = (100 * part) / whole;
  if (share > 0 && share < 0.1) return '<0.1%';
  return `${share >= 99.95 || share === 0 ? Math.round(share) : share.toFixed(1)}%`;
}

export const plural = (count: number, one: string): string =>
  `${grouped(count)} ${count === 1 ? one : `${one}${/(?:x|s)$/.test(one) ? 'es' : 's'}`}`;

/** With a capital in front if it begins with a word; names, such as `max_time = 5`, stay as they are. */
export const sentence = (text: string): string =>
  /^[a-z]+[ ,](?!=)/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;

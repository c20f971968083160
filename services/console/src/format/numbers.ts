/** Numbers as every part of the console writes them. Depends on no other part. */

const GROUPED = new Intl.NumberFormat('en-US');

/** `12,345.678`. */
export const grouped = (value: number): string => GROUPED.format(value);

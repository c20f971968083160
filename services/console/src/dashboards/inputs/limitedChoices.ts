/** Which choices of a long list are shown: the first ones that fit what is typed, and how many more there are. */

import type { OptionsFilter } from '@mantine/core';
import { grouped } from '../../app/format';

/** Choices of a list that are drawn at a time; typing finds the others. */
export const MOST_CHOICES = 200;

/** No value of a choice: those have no control characters. */
const MORE = '\u0000more';

export const limitedChoices: OptionsFilter = ({ options, search, limit }) => {
  const typed = search.trim().toLowerCase();
  const found = options.filter((one) => 'label' in one && one.label.toLowerCase().includes(typed));
  if (found.length <= limit) return found;
  const label = `${grouped(found.length - limit)} more: type to find them`;
  return [...found.slice(0, limit), { value: MORE, label, disabled: true }];
};

import { expect, it } from 'vitest';
import { limitedChoices } from './limitedChoices';

const OPTIONS = Array.from({ length: 5_000 }, (_, at) => ({
  value: `${at}`,
  label: `value ${at}`,
}));

it('a long list says how many choices it leaves out', () => {
  const shown = (search: string) => limitedChoices({ options: OPTIONS, search, limit: 200 });
  expect(shown('')).toHaveLength(201);
  expect(shown('').at(-1)).toMatchObject({
    label: '4,800 more: type to find them',
    disabled: true,
  });
  expect(shown('value 4999')).toEqual([{ value: '4999', label: 'value 4999' }]);
});

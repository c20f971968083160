import { expect, it } from 'vitest';
import { fieldNames, valuesOf } from './values';

it('values of a field are a list whether one, many or none', () => {
  const event = { a: '1', b: ['2', '3'] };
  expect([valuesOf(event, 'a'), valuesOf(event, 'b'), valuesOf(event, 'c')]).toEqual([
    ['1'],
    ['2', '3'],
    [],
  ]);
});

it('origin comes first and internal fields last', () =>
  expect(
    fieldNames({ _raw: '', _time: '', zeta: '', _cd: '', index: '', alpha: '', host: '' }),
  ).toEqual(['host', 'index', 'alpha', 'zeta', '_cd']));

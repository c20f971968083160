import { expect, it } from 'vitest';
import { idOf, isId } from './newDashboard';

it('an id has the letters of its title, without their marks', () => {
  expect(idOf('Web requests')).toBe('web_requests');
  expect(idOf('Übersicht: Café')).toBe('ubersicht_cafe');
  expect(isId(idOf('  Ångström (1)  '))).toBe(true);
});

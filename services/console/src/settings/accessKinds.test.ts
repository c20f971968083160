import { expect, it } from 'vitest';
import type { Entry, Me } from '../api/types';
import { fieldsFor, fieldsOf, initialValues, problemsOf } from '../objects/form';
import { roles, users } from './accessKinds';

const ann = { name: 'ann', content: { roles: ['user'] } } as unknown as Entry;
const me = (...capabilities: string[]): Me => ({
  username: 'ann',
  roles: [],
  capabilities: new Set(capabilities),
  zone: '',
});
const passwords = (who: Me, entry = ann) =>
  fieldsOf(users.fields, who, entry)
    .filter(({ kind }) => kind === 'password')
    .map(({ name }) => name);

it('the form of the own user has a field for each password that the server wants', () => {
  expect(passwords(me('change_own_password'))).toEqual(['oldpassword', 'password']);
  expect(passwords(me('change_own_password', 'edit_user'))).toEqual(['password']);
  expect(passwords(me())).toEqual([]);
  expect(passwords(me('change_own_password'), { ...ann, name: 'bob' })).toEqual([]);
});

it('a new password of the own user needs the current one', () => {
  const fields = fieldsOf(users.fields, me('change_own_password'), ann);
  const values = { roles: ['user'], password: 'a new one', oldpassword: '' };
  expect([...problemsOf(fields, values)]).toEqual([['oldpassword', 'Current password is missing']]);
  expect(problemsOf(fields, { ...values, oldpassword: 'an old one' }).size).toBe(0);
  expect(problemsOf(fields, { ...values, password: '' }).size).toBe(0);
});

it('what only administrators change of a user is read-only for others', () => {
  const fixed = (who: Me) =>
    fieldsOf(users.fields, who, ann)
      .filter(({ isReadOnly }) => isReadOnly)
      .map(({ name }) => name);
  expect(fixed(me('change_own_password'))).toEqual(['roles', 'force-change-pass', 'locked-out']);
  expect(fixed(me('edit_user'))).toEqual([]);
});

it('a default index that the role has already does not hold back another change of the role', () => {
  const fields = fieldsFor(roles.fields, false);
  const content = { srchIndexesAllowed: ['main'], srchIndexesDefault: ['main', 'other'] };
  const before = initialValues(fields, { name: 'reader', content } as unknown as Entry);
  const wrong = (more: object) => [...problemsOf(fields, { ...before, ...more }, before).keys()];
  expect(wrong({ srchFilter: 'host=web*' })).toEqual([]);
  expect(wrong({ srchIndexesDefault: 'other' })).toEqual(['srchIndexesDefault']);
  expect(wrong({ srchIndexesAllowed: 'web' })).toEqual(['srchIndexesDefault']);
});

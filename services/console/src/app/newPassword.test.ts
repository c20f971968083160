import { expect, it } from 'vitest';
import { apiErrorOf } from '../api/errors';
import { changeForm, reasonToChange, repeatProblem } from './newPassword';

const refusal = (text: string, code: string) =>
  apiErrorOf(401, '', JSON.stringify({ messages: [{ type: 'WARN', text, code }] }), null);

it('a password that has to be changed is asked for, without the parameter of REST', () => {
  const text = 'the password has to be changed: log in with new_password, or ask an administrator';
  expect(reasonToChange(refusal(text, 'password_expired'))).toBe(
    'The password has to be changed. Choose a new password.',
  );
});

it('other refusals do not ask for a new password', () => {
  expect(reasonToChange(refusal('Login failed', 'incorrect_username_or_password'))).toBeNull();
  expect(reasonToChange(new Error('password_expired'))).toBeNull();
});

it('a repetition that differs is a problem once it is typed', () => {
  expect(repeatProblem('a new one', '')).toBeNull();
  expect(repeatProblem('a new one', 'a new')).toBe('The two passwords differ');
  expect(repeatProblem('a new one', 'a new one')).toBeNull();
});

it('a change sends the current password where the server asks for it', () => {
  expect(changeForm('old', 'new')).toEqual({ oldpassword: 'old', password: 'new' });
  expect(changeForm(null, 'new')).toEqual({ password: 'new' });
});

/** A new password that a user chooses: why one is due, whether it was typed the same twice, its request. */

import { ApiError } from '../api/client';

/** The reason why the server wants another password before it lets the user in; null for any other failure. */
export function reasonToChange(error: unknown): string | null {
  if (!(error instanceof ApiError)) return null;
  const told = error.messages.find(({ code }) => code === 'password_expired');
  if (!told) return null;
  // Behind the reason, the server tells programs how to send the new password.
  const reason = told.text.replace(/: log in with new_password.*$/s, '');
  return `${reason.charAt(0).toUpperCase()}${reason.slice(1)}. Choose a new password.`;
}

/** What is wrong with the repetition; null while it is not typed, or the same. */
export const repeatProblem = (password: string, repeat: string): string | null =>
  repeat === '' || repeat === password ? null : 'The two passwords differ';

/** The parameters of a change; `current`: null where the server does not ask for it. */
export const changeForm = (current: string | null, password: string): Record<string, string> =>
  current === null ? { password } : { oldpassword: current, password };

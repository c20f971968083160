/** A new password, typed twice. */

import { PasswordInput } from '@mantine/core';
import { repeatProblem } from './newPassword';

interface NewPasswordFieldsProps {
  password: string;
  repeat: string;
  hasFocus?: boolean;
  onChange: (typed: { password: string; repeat: string }) => void;
}

export function NewPasswordFields(props: NewPasswordFieldsProps) {
  const { password, repeat, hasFocus = false, onChange } = props;
  const common = { autoComplete: 'new-password', required: true, withAsterisk: false };
  return (
    <>
      <PasswordInput
        {...common}
        label="New password"
        name="new-password"
        autoFocus={hasFocus}
        value={password}
        onChange={(event) => onChange({ password: event.currentTarget.value, repeat })}
      />
      <PasswordInput
        {...common}
        label="Repeat the new password"
        name="repeat-password"
        value={repeat}
        error={repeatProblem(password, repeat)}
        onChange={(event) => onChange({ password, repeat: event.currentTarget.value })}
      />
    </>
  );
}

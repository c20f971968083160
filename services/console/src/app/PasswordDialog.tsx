/** Changes the password of the user who is logged in. */

import { PasswordInput } from '@mantine/core';
import { useState } from 'react';
import { ApiError } from '../api/client';
import { ConfirmDialog } from './ConfirmDialog';
import { useConnection, useMe } from './clientContext';
import { NewPasswordFields } from './NewPasswordFields';
import { changeForm, repeatProblem } from './newPassword';

export default function PasswordDialog({ onClose }: { onClose: () => void }) {
  const { client, username } = useConnection();
  const me = useMe();
  const [current, setCurrent] = useState('');
  const [fresh, setFresh] = useState({ password: '', repeat: '' });
  // The server does not check it for somebody who may change every password.
  const isAsked = !me?.capabilities.has('edit_user');
  const change = async () => {
    const problem = repeatProblem(fresh.password, fresh.repeat);
    if (problem) throw new ApiError('rejected', 0, [{ type: 'ERROR', text: problem }]);
    const path = `/services/authentication/users/${encodeURIComponent(username)}`;
    await client.change(path, changeForm(isAsked ? current : null, fresh.password));
  };
  return (
    <ConfirmDialog
      title={`Change the password of ${username}`}
      action="Change password"
      testId="password-form"
      onConfirm={change}
      onClose={onClose}
    >
      {isAsked && (
        <PasswordInput
          label="Current password"
          name="current-password"
          autoComplete="current-password"
          required
          withAsterisk={false}
          data-autofocus
          value={current}
          onChange={(event) => setCurrent(event.currentTarget.value)}
        />
      )}
      <NewPasswordFields {...fresh} onChange={setFresh} />
      <p>Your other sessions end.</p>
    </ConfirmDialog>
  );
}

/** Signing in: the page without a session, and the dialog over a page whose session has ended. */

import { Button, Modal, PasswordInput, TextInput } from '@mantine/core';
import { type FormEvent, type KeyboardEvent, useEffect, useState } from 'react';
import { ApiError, type KarstClient, type Provider } from '../api/client';
import { explainError } from '../api/explain';
import styles from './LoginPage.module.css';
import { Logo } from './Logo';
import { NewPasswordFields } from './NewPasswordFields';
import { Notice } from './Notice';
import { reasonToChange, repeatProblem } from './newPassword';
import { openSession, rememberAddress, type Session } from './session';
import { useTitle } from './useTitle';

interface LoginProps {
  client: KarstClient;
  onLogin: (session: Session) => void;
}

interface LoginPageProps extends LoginProps {
  /** What the server said of the logout before; null for nothing. */
  told: string | null;
}

export function LoginPage({ told, ...props }: LoginPageProps) {
  useTitle('Sign in');
  return (
    <main className={styles.page}>
      <div className={styles.card}>
        <h1 className={styles.title}>
          <Logo size={26} />
          Karst
        </h1>
        {told && <Notice kind="warning">{told}</Notice>}
        <LoginForm {...props} user="" />
      </div>
    </main>
  );
}

interface LoginDialogProps extends LoginProps {
  opened: boolean;
  user: string;
  /** Whether the session goes on, as another tab has logged in. */
  look: () => Promise<boolean>;
}

/** Over the page, which stays as it is for the same user. Does not go away without a login. */
export function LoginDialog({ opened, look, ...form }: LoginDialogProps) {
  useEffect(() => {
    if (!opened) return;
    const back = () => void look();
    window.addEventListener('focus', back);
    return () => window.removeEventListener('focus', back);
  }, [opened, look]);
  return (
    <Modal
      opened={opened}
      onClose={() => {}}
      size="xs"
      // Above everything else that may be open.
      zIndex={1000}
      withCloseButton={false}
      closeOnEscape={false}
      closeOnClickOutside={false}
      overlayProps={{ backgroundOpacity: 0.85, blur: 6 }}
      onKeyDown={keepKeys}
    >
      {/* Not in a header, which would be one of the page for readers of screens. */}
      <Modal.Title>Your session has expired</Modal.Title>
      <p className={styles.reason}>
        Sign in to continue. The page stays as it is; another user begins anew.
      </p>
      <LoginForm {...form} isOver />
    </Modal>
  );
}

/** Keys of the page do nothing meanwhile; Tab is for the trap of the focus. */
const keepKeys = (event: KeyboardEvent) => event.key !== 'Tab' && event.stopPropagation();

interface LoginFormProps extends LoginProps {
  /** Who is expected; empty for nobody. */
  user: string;
  /** Whether the page below has what a login elsewhere would lose. */
  isOver?: boolean;
}

function LoginForm({ client, onLogin, user, isOver = false }: LoginFormProps) {
  const [username, setUsername] = useState(user);
  const [password, setPassword] = useState('');
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  /** Why the server wants a new password; null until it does. */
  const [due, setDue] = useState<string | null>(null);
  const [fresh, setFresh] = useState({ password: '', repeat: '' });
  const [providers, setProviders] = useState<Provider[]>([]);

  useEffect(() => {
    const controller = new AbortController();
    // Without an answer there is the password still.
    client.welcome(controller.signal).then(
      (welcome) => setProviders(welcome.providers),
      () => setProviders([]),
    );
    return () => controller.abort();
  }, [client]);

  /** Another user, or another password, is another login. */
  const begin = () => {
    setDue(null);
    setFresh({ password: '', repeat: '' });
  };

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (repeatProblem(fresh.password, fresh.repeat)) return;
    setBusy(true);
    setFailure(null);
    try {
      onLogin(await openSession(client, username, password, fresh.password));
    } catch (error) {
      const reason = reasonToChange(error);
      if (reason) setDue(reason);
      else setFailure(explain(error));
      setBusy(false);
    }
  };

  return (
    <form className={styles.form} onSubmit={submit} aria-label="Sign in">
      {due && !failure && <Notice kind="info">{due}</Notice>}
      {failure && <Notice kind="error">{failure}</Notice>}
      <TextInput
        label="User"
        name="username"
        autoComplete="username"
        autoFocus={user === ''}
        required
        withAsterisk={false}
        value={username}
        data-mantine-stop-propagation="true"
        onChange={(event) => {
          setUsername(event.currentTarget.value);
          begin();
        }}
      />
      <PasswordInput
        label="Password"
        name="password"
        autoComplete="current-password"
        data-autofocus={user !== '' || undefined}
        required
        withAsterisk={false}
        value={password}
        data-mantine-stop-propagation="true"
        onChange={(event) => {
          setPassword(event.currentTarget.value);
          begin();
        }}
      />
      {due && <NewPasswordFields {...fresh} hasFocus onChange={setFresh} />}
      <Button type="submit" loading={busy} fullWidth mt={4} data-mantine-stop-propagation="true">
        {due ? 'Change password and sign in' : 'Sign in'}
      </Button>
      {providers.map((provider) => (
        <Button
          key={provider.url}
          component="a"
          href={provider.url}
          target={isOver ? '_blank' : undefined}
          variant="default"
          fullWidth
          data-mantine-stop-propagation="true"
          onClick={isOver ? undefined : rememberAddress}
        >
          Sign in with {provider.name}
          {isOver && ' in another tab'}
        </Button>
      ))}
    </form>
  );
}

function explain(error: unknown): string {
  if (!(error instanceof ApiError)) return 'Something went wrong in this page; reload it.';
  const { title, advice } = explainError(error);
  if (error.kind === 'unreachable') return `${title}. ${advice}`;
  return error.kind === 'busy' ? `${error.message}. ${advice}` : error.message;
}

import { Button, PasswordInput, TextInput } from '@mantine/core';
import { type FormEvent, useEffect, useState } from 'react';
import { ApiError, type KarstClient, type Provider } from '../api/client';
import { explainError } from '../api/explain';
import styles from './LoginPage.module.css';
import { Logo } from './Logo';
import { NewPasswordFields } from './NewPasswordFields';
import { Notice } from './Notice';
import { reasonToChange, repeatProblem } from './newPassword';
import { openSession, rememberAddress, type Session } from './session';
import { useTitle } from './useTitle';

interface LoginPageProps {
  client: KarstClient;
  notice: string | null;
  onLogin: (session: Session) => void;
}

export function LoginPage({ client, notice, onLogin }: LoginPageProps) {
  const [username, setUsername] = useState('');
  const [password, setPassword] = useState('');
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<string | null>(null);
  /** Why the server wants a new password; null until it does. */
  const [due, setDue] = useState<string | null>(null);
  const [fresh, setFresh] = useState({ password: '', repeat: '' });
  const [providers, setProviders] = useState<Provider[]>([]);

  useTitle('Sign in');
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
    <main className={styles.page}>
      <form className={styles.card} onSubmit={submit} aria-label="Sign in">
        <h1 className={styles.title}>
          <Logo size={26} />
          Karst
        </h1>
        {notice && !failure && !due && <Notice kind="info">{notice}</Notice>}
        {due && !failure && <Notice kind="info">{due}</Notice>}
        {failure && <Notice kind="error">{failure}</Notice>}
        <TextInput
          label="User"
          name="username"
          autoComplete="username"
          autoFocus
          required
          withAsterisk={false}
          value={username}
          onChange={(event) => {
            setUsername(event.currentTarget.value);
            begin();
          }}
        />
        <PasswordInput
          label="Password"
          name="password"
          autoComplete="current-password"
          required
          withAsterisk={false}
          value={password}
          onChange={(event) => {
            setPassword(event.currentTarget.value);
            begin();
          }}
        />
        {due && <NewPasswordFields {...fresh} hasFocus onChange={setFresh} />}
        <Button type="submit" loading={busy} fullWidth mt={4}>
          {due ? 'Change password and sign in' : 'Sign in'}
        </Button>
        {providers.map((provider) => (
          <Button
            key={provider.url}
            component="a"
            href={provider.url}
            variant="default"
            fullWidth
            onClick={rememberAddress}
          >
            Sign in with {provider.name}
          </Button>
        ))}
      </form>
    </main>
  );
}

function explain(error: unknown): string {
  if (!(error instanceof ApiError)) return 'Something went wrong in this page; reload it.';
  const { title, advice } = explainError(error);
  if (error.kind === 'unreachable') return `${title}. ${advice}`;
  return error.kind === 'busy' ? `${error.message}. ${advice}` : error.message;
}

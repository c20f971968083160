import { Button, PasswordInput, TextInput } from '@mantine/core';
import { type FormEvent, useEffect, useState } from 'react';
import { ApiError, type KarstClient, type Provider } from '../api/client';
import { explainError } from '../api/explain';
import styles from './LoginPage.module.css';
import { Logo } from './Logo';
import { Notice } from './Notice';
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

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    setBusy(true);
    setFailure(null);
    try {
      onLogin(await openSession(client, username, password));
    } catch (error) {
      setFailure(explain(error));
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
        {notice && !failure && <Notice kind="info">{notice}</Notice>}
        {failure && <Notice kind="error">{failure}</Notice>}
        <TextInput
          label="User"
          name="username"
          autoComplete="username"
          autoFocus
          required
          withAsterisk={false}
          value={username}
          onChange={(event) => setUsername(event.currentTarget.value)}
        />
        <PasswordInput
          label="Password"
          name="password"
          autoComplete="current-password"
          required
          withAsterisk={false}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        <Button type="submit" loading={busy} fullWidth mt={4}>
          Sign in
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

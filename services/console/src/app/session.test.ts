import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { KarstClient } from '../api/client';
import { addressBefore, currentSession, openSession, rememberAddress } from './session';

const location = { pathname: '/', search: '' };

beforeEach(() => {
  const kept = new Map<string, string>();
  vi.stubGlobal('sessionStorage', {
    getItem: (name: string) => kept.get(name) ?? null,
    setItem: (name: string, value: string) => kept.set(name, value),
    removeItem: (name: string) => kept.delete(name),
  });
  vi.stubGlobal('window', { location });
});

afterEach(() => vi.unstubAllGlobals());

const client = (user: string | null) =>
  ({
    login: async () => 'KEY',
    welcome: async () => ({ providers: [], user }),
  }) as unknown as KarstClient;

it('the session is that of the cookie, and its key stays out of the page', async () => {
  expect(await currentSession(client('ann'))).toEqual({ username: 'ann', sessionKey: '' });
  expect(await openSession(client('ann'), 'ann', 'x')).toEqual({ username: 'ann', sessionKey: '' });
  expect(await currentSession(client(null))).toBeNull();
});

it('a browser that takes no cookies has the key in the memory of the tab', async () => {
  const session = await openSession(client(null), 'ann', 'x');
  expect(session).toEqual({ username: 'ann', sessionKey: 'KEY' });
});

it('a login with a new password sends it', async () => {
  const sent: string[][] = [];
  const login = async (...all: string[]) => {
    sent.push(all);
    return 'KEY';
  };
  await openSession({ ...client('ann'), login } as unknown as KarstClient, 'ann', 'x', 'y');
  expect(sent).toEqual([['ann', 'x', 'y']]);
});

it('a login elsewhere leads back to the address, once', () => {
  Object.assign(location, { pathname: '/jobs', search: '?user=*' });
  rememberAddress();
  Object.assign(location, { pathname: '/', search: '' });
  expect(addressBefore()).toBe('/jobs?user=*');
  expect(addressBefore()).toBeNull();
});

it('an address of another server is never gone to', () => {
  sessionStorage.setItem('karst.back', '//evil.example/');
  expect(addressBefore()).toBeNull();
});

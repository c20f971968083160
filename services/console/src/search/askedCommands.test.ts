import { expect, it, vi } from 'vitest';
import { ApiError } from '../api/client';
import { askedCommands } from './askedCommands';

const job = (query: string) => ({
  query,
  range: { earliest: '-1h', latest: 'now' },
  timezone: 'UTC',
});
const command = (name: string, text = name) => ({ name, text, kind: '', runs: '' });
const server = (...commands: ReturnType<typeof command>[]) => ({
  explain: vi.fn(async () => ({ normalized: '', commands, messages: [], estimate: null })),
});

it('a search whose text shows everything is not sent to the server', async () => {
  const client = server();
  expect(await askedCommands(client, job('index=a | stats count'))).toEqual([]);
  expect(await askedCommands(client, job('index=a | delete'))).toEqual(['delete']);
  expect(client.explain).not.toHaveBeenCalled();
});

it('what a macro hides is asked about', async () => {
  const client = server(command('search'), command('outputlookup'));
  expect(await askedCommands(client, job('index=a `wipe`'))).toEqual(['outputlookup']);
  const nested = server(command('append', 'append [search a | collect index=b]'));
  expect(await askedCommands(nested, job('index=a `more`'))).toEqual(['collect']);
});

it('a saved search is asked about, as its text is not there', async () => {
  const client = server(command('savedsearch', 'savedsearch nightly'));
  expect(await askedCommands(client, job('| savedsearch nightly'))).toEqual(['savedsearch']);
});

it('a command of an app is asked about, as it is a program', async () => {
  const client = server(command('search'), command('script', 'shout loud'));
  expect(await askedCommands(client, job('index=a | shout loud'))).toEqual(['script']);
});

it('words are no commands where the server says so', async () => {
  expect(await askedCommands(server(command('search')), job('delete failed'))).toEqual([]);
});

it('a mistake runs nothing, and a server away does not count as consent', async () => {
  const failing = (kind: ApiError['kind']) => ({
    explain: vi.fn(async () => {
      throw new ApiError(kind, 0, []);
    }),
  });
  expect(await askedCommands(failing('rejected'), job('`no`'))).toEqual([]);
  await expect(askedCommands(failing('unreachable'), job('`no`'))).rejects.toThrow();
});

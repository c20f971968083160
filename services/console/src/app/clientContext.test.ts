import { expect, it } from 'vitest';
import { decodeApps } from '../api/decode';
import type { Me } from '../api/types';
import { SOURCES_RIGHTS } from '../home/overview';
import { lackingOf, mayShare } from './clientContext';

const me = (...capabilities: string[]): Me => ({
  username: 'ann',
  roles: [],
  capabilities: new Set(capabilities),
  zone: '',
});

it('a part of a page that needs capabilities names the first one that the user lacks', () => {
  expect(lackingOf(me('search'), null, SOURCES_RIGHTS)).toBe('get_metadata');
  expect(lackingOf(me(), null, SOURCES_RIGHTS)).toBe('search');
  expect(lackingOf(me('search', 'get_metadata'), null, SOURCES_RIGHTS)).toBeNull();
});

it('nothing is asked for before the capabilities are known, and the server decides if they cannot be', () => {
  expect(lackingOf(undefined, null, SOURCES_RIGHTS)).toBeUndefined();
  expect(lackingOf(undefined, new Error('away'), SOURCES_RIGHTS)).toBeNull();
});

it('sharing is offered to those who may write to the app', () => {
  const app = (name: string, can_write: boolean) => ({ name, content: {}, acl: { can_write } });
  const all = decodeApps({ entry: [app('own', true), app('other', false)] });
  expect(mayShare(all, 'own')).toBe(true);
  expect(mayShare(all, 'other')).toBe(false);
  expect(mayShare(all, 'unlisted')).toBe(true);
  expect(mayShare(undefined, 'own')).toBe(true);
});

import { describe, expect, it } from 'vitest';
import { ApiError, type KarstClient } from '../api/client';
import { decodeEntries } from '../api/decode';
import type { Peer } from '../api/types';
import {
  applyBundle,
  bundleState,
  changesText,
  decodeBundle,
  decodePlan,
  failureText,
  filesOf,
  identityOf,
  isArriving,
  needsForce,
  planRollback,
  rollBack,
  usageText,
  validateBundle,
  versionOf,
  wrappedIn,
} from './bundle';

const peer = (name: string, appsChecksum: string, status = 'Up'): Peer => ({
  id: name,
  name,
  address: `${name}:8087`,
  site: 'default',
  roles: ['indexer'],
  status,
  reason: '',
  leadsSince: '',
  write: 1,
  version: '1',
  started: '',
  hasLocalAcks: true,
  appsChecksum,
});

const plan = (content: Record<string, unknown>) => decodePlan({ apps: ['shop'], ...content });
const added = (...paths: string[]) =>
  plan({ changes: [{ app: 'shop', added: paths, changed: [], removed: [] }] });

describe('the configuration bundle', () => {
  it('is read with the one that a rollback restores, and what all processes have', async () => {
    const active = { checksum: 'a1', apps: ['one', 'two'], by: 'ann', timestamp: 1_800_000_000 };
    const content = {
      active_bundle: active,
      previous_active_bundle: { checksum: 'a0', apps: [], by: '', timestamp: 0 },
      latest_bundle: { checksum: 'all' },
    };
    const client = {
      entries: async () => decodeEntries({ entry: [{ name: 'manager', content }] }),
      peers: async () => [peer('a', 'all')],
    } as unknown as KarstClient;
    const state = await bundleState(client);
    expect(state.active).toEqual({
      checksum: 'a1',
      apps: ['one', 'two'],
      by: 'ann',
      applied: 1_800_000_000,
    });
    expect(state.previous?.applied).toBeNull();
    expect(state.latest).toBe('all');
    expect(usageText(state)).toBe('1 of 1 process uses the latest apps');
  });

  it('is absent where none was applied', () => {
    expect(decodeBundle(null)).toBeNull();
    expect(decodeBundle(undefined)).toBeNull();
    expect(identityOf(null)).toBe('');
  });

  it('is another one if the same apps are applied again', () => {
    const at = (timestamp: number) => identityOf(decodeBundle({ checksum: 'a', timestamp }));
    expect(at(1)).not.toBe(at(2));
  });

  it('names the processes that have other apps or do not answer', () => {
    const peers = [peer('a', 'new'), peer('b', 'old'), peer('c', 'new', 'Down')];
    expect(peers.map((one) => versionOf(one, 'new'))).toEqual(['same', 'other', 'away']);
    expect(usageText({ peers, latest: 'new' })).toBe(
      '1 of 3 processes uses the latest apps; other apps in b; no answer from c',
    );
    expect(isArriving({ peers, latest: 'new' })).toBe(true);
    const away = [peer('a', 'new'), peer('b', 'old', 'Down')];
    expect(isArriving({ peers: away, latest: 'new' })).toBe(false);
  });
});

describe('a plan', () => {
  it('has files and findings of the dry run', () => {
    const found = plan({
      changes: [{ app: 'shop', added: ['a'], changed: ['b'], removed: ['c', 'd'] }],
      ignored: ['apps/shop/b:1: wrong'],
      not_used: [{ app: 'shop', place: 'd', text: 'means nothing' }],
    });
    expect(changesText(found)).toBe('4 files of 1 app: 1 added, 1 changed, 2 removed.');
    expect(filesOf(found).map(({ word, file }) => `${word} ${file}`)).toEqual([
      'added shop/a',
      'changed shop/b',
      'removed shop/c',
      'removed shop/d',
    ]);
    expect(found.notUsed).toEqual(['shop/d: means nothing']);
    expect(changesText(plan({ changes: [] }))).toBe('No file is changed.');
  });

  it('needs force for what is ignored or breaks, not for warnings', () => {
    expect(needsForce(plan({ ignored: ['x'] }))).toBe(true);
    expect(needsForce(plan({ breaks: ['x'] }))).toBe(true);
    expect(needsForce(plan({ warnings: ['x'], not_used: [{}] }))).toBe(false);
  });

  it('of an archive with the directory around the apps is recognised', () => {
    expect(wrappedIn(added('one/default/app.conf', 'two/metadata/default.meta'))).toBe('shop');
    expect(wrappedIn(added('default/app.conf', 'bin/lookups/a.csv'))).toBeNull();
    expect(wrappedIn(added('default/app.conf'))).toBeNull();
    expect(wrappedIn(plan({ changes: [] }))).toBeNull();
  });
});

describe('requests', () => {
  it('validate and apply an archive, with force only if it is chosen', async () => {
    const asked: [string, unknown, unknown][] = [];
    const sendBody = async (path: string, body: unknown, query: unknown) => {
      asked.push([path, body, query]);
      return { entry: [{ name: 'apply', content: { changes: [], apps: ['shop'] } }] };
    };
    const client = { sendBody } as unknown as KarstClient;
    const archive = new Blob(['packed']);
    expect((await validateBundle(client, archive)).apps).toEqual(['shop']);
    await applyBundle(client, archive, false);
    await applyBundle(client, archive, true);
    const control = '/services/cluster/manager/control/default';
    expect(asked).toEqual([
      [`${control}/validate_bundle`, archive, {}],
      [`${control}/apply`, archive, {}],
      [`${control}/apply`, archive, { force: '1' }],
    ]);
  });

  it('roll back after a dry run of the same route', async () => {
    const asked: [string, unknown][] = [];
    const change = async (path: string, form: unknown) => {
      asked.push([path, form]);
      return decodeEntries({ entry: [{ name: 'rollback', content: { breaks: ['x'] } }] });
    };
    const client = { change } as unknown as KarstClient;
    expect(needsForce(await planRollback(client))).toBe(true);
    await rollBack(client);
    const path = '/services/cluster/manager/control/default/rollback';
    expect(asked).toEqual([
      [path, { dry_run: '1' }],
      [path, undefined],
    ]);
  });

  it('that fail say what helps', () => {
    const failure = (kind: ApiError['kind'], text: string) =>
      new ApiError(kind, 400, [{ type: 'ERROR', text }]);
    const refused = failure(
      'rejected',
      'it has an error; correct it, or apply it anyway with --force (force=1 over REST)',
    );
    expect(failureText(refused, false)).toMatch(/apply it anyway by the checkbox$/);
    const locked = 'a bundle is being applied by bob';
    expect(failureText(failure('conflict', locked), false)).toBe(locked);
    expect(failureText(failure('tooLarge', 'too large'), true)).toContain('karst cluster bundle');
    const away = failure('unreachable', 'no answer');
    expect(failureText(away, false)).toContain('may be in effect');
    expect(failureText(away, true)).not.toContain('may be in effect');
  });
});

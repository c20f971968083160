import { describe, expect, it } from 'vitest';
import type { Peer } from '../api/types';
import {
  atATime,
  awayOf,
  confirmationOf,
  decodeProgress,
  formOf,
  lossOf,
  nameOf,
  percentOf,
  progressText,
  refusalText,
  wavesOf,
} from './rollingRestart';

const peer = (id: string, more: Partial<Peer> = {}): Peer => ({
  id,
  name: `name of ${id}`,
  address: '',
  site: 'default',
  roles: ['indexer'],
  status: 'Up',
  reason: '',
  leadsSince: '',
  write: 1,
  version: '',
  started: '',
  hasLocalAcks: true,
  appsChecksum: '',
  ...more,
});

describe('a rolling restart', () => {
  it('is cut into waves as the server counts them', () => {
    const order = ['a', 'b', 'c', 'd', 'e'];
    expect(atATime(5, 10)).toBe(1);
    expect(wavesOf(order, 10).length).toBe(5);
    expect(wavesOf(order, 50)).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
    expect(wavesOf(order, 100)).toEqual([order]);
    expect(wavesOf([], 10)).toEqual([]);
  });

  it('asks for what was chosen and nothing more', () => {
    const request = { role: 'indexer', percent: null, isForced: false } as const;
    expect(formOf(request, false)).toEqual({ role: 'indexer' });
    expect(formOf({ role: 'search-head', percent: 50, isForced: true }, true)).toEqual({
      role: 'search-head',
      percent_peers_to_restart: '50',
      force: '1',
      dry_run: '1',
    });
  });

  it('takes percentages from 1 to 100', () => {
    expect(percentOf(' ')).toBeNull();
    expect(percentOf('25')).toBe(25);
    for (const text of ['0', '101', '2.5', 'x', '-1']) expect(percentOf(text)).toBeUndefined();
  });

  it('is refused in the words of the dialog', () => {
    const peers = [
      peer('1f', { name: 'vm', address: '10.0.0.1:9000' }),
      peer('2f', { name: 'vm', address: '10.0.0.2:9000' }),
    ];
    const said = 'vm (2f) does not respond: start it, remove it, or use force=1';
    expect(refusalText(said, peers)).toBe(
      'vm (10.0.0.2:9000) does not respond: start it, remove it, or use the checkbox "Restart even if …"',
    );
  });

  it('is said in one sentence', () => {
    const none = { ...decodeProgress(undefined), isRunning: false };
    expect(progressText(none)).toBeNull();
    const progress = decodeProgress({ done: ['a'], in_progress: ['b'], to_be_restarted: ['c'] });
    expect(progressText({ ...progress, isRunning: true })).toBe('1 of 3 processes are back');
    expect(progressText({ ...progress, isRunning: false, stopped: 'cancelled by admin' })).toBe(
      'The last rolling restart stopped, 1 of 3 processes are back: cancelled by admin',
    );
    const over = decodeProgress({ done: ['a'], failed: null });
    expect(progressText({ ...over, isRunning: false })).toBe(
      'The last rolling restart has finished: 1 of 1 process is back',
    );
  });

  it('waits for a process that is away, but not for one that restarts', () => {
    const peers = [peer('a', { status: 'Down' }), peer('b', { status: 'Down' }), peer('c')];
    expect(awayOf(peers, ['a']).map((one) => one.id)).toEqual(['b']);
    expect(nameOf(peers, 'b')).toBe('name of b');
    expect(nameOf(peers, 'gone')).toBe('gone');
  });

  it('tells processes of the same name apart by their addresses', () => {
    const one = peer('a', { name: 'host', address: '10.0.0.1:9887' });
    const other = peer('b', { name: 'host', address: '10.0.0.2:9887' });
    expect(nameOf([one, other], 'b')).toBe('host (10.0.0.2:9887)');
    expect(confirmationOf([one, other], one)).toBe('10.0.0.1:9887');
    expect(confirmationOf([one], one)).toBe('host');
  });
});

describe('the removal of a process', () => {
  it('says what is given up, by its acknowledgements', () => {
    expect(lossOf(peer('a')).join(' ')).toContain('ackLevel = local');
    const remote = lossOf(peer('a', { hasLocalAcks: false })).join(' ');
    expect(remote).toContain('Nothing that it acknowledged is lost');
    expect(remote).not.toContain('given up: searches');
    const head = lossOf(peer('h', { roles: ['search-head'] })).join(' ');
    expect(head).toContain('search jobs');
    expect(head).not.toContain('ackLevel');
  });
});

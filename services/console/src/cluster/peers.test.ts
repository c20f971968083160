import { describe, expect, it } from 'vitest';
import type { Peer } from '../api/types';
import { hasSites, haveOtherApps, mayBeRemoved, rowsOf, summaryOf, withRestarting } from './peers';

const peer = (address: string, roles: string[], more: Partial<Peer> = {}): Peer => ({
  id: address,
  name: 'host',
  address,
  site: 'default',
  roles,
  status: 'Up',
  reason: '',
  leadsSince: '',
  write: 7,
  version: '0.1.0',
  started: '2026-11-25T20:00:00Z',
  hasLocalAcks: true,
  appsChecksum: '',
  ...more,
});

describe('rows of the cluster page', () => {
  it('has the leader first, then the others by their roles', () => {
    const rows = rowsOf([
      peer('h', ['search-head']),
      peer('i', ['indexer'], { write: 5 }),
      peer('a', ['control-plane']),
      peer('b', ['control-plane'], { leadsSince: '2026-11-25T20:00:00Z' }),
      peer('x', ['unheard-of'], { status: 'Down', write: null }),
    ]);
    expect(rows.map((row) => row.address)).toEqual(['b', 'a', 'i', 'h', 'x']);
    expect(rows.map((row) => row.behind)).toEqual([0, 0, 2, 0, null]);
    expect(summaryOf(rows)).toBe('5 processes, 1 of them does not answer');
  });

  it('has sites where a process says its own', () => {
    expect(hasSites([peer('a', []), peer('b', [])])).toBe(false);
    expect(hasSites([peer('a', []), peer('b', [], { site: 'site2' })])).toBe(true);
  });

  it('knows when processes work by different apps', () => {
    const by = (address: string, appsChecksum: string, status = 'Up') =>
      peer(address, [], { appsChecksum, status });
    expect(haveOtherApps([by('a', 'x'), by('b', 'y')])).toBe(true);
    const others = [by('b', 'x'), by('c', 'y', 'Down'), by('d', '')];
    expect(haveOtherApps([by('a', 'x'), ...others])).toBe(false);
  });

  it('says when all is well', () => {
    expect(summaryOf(rowsOf([peer('a', [])]))).toBe('1 process, all of them answer');
    expect(rowsOf([])).toEqual([]);
    const leaving = peer('i', ['indexer'], { status: 'Decommissioning' });
    expect(summaryOf(rowsOf([leaving]))).toBe('1 process, all of them answer');
  });

  it('keeps a process that is not listed while it restarts', () => {
    const seen = peer('i', ['indexer'], { name: 'vm' });
    const known = new Map([[seen.id, seen]]);
    const others = [peer('a', ['control-plane']), peer('h', ['search-head'])];
    const rows = rowsOf(withRestarting(others, known, ['i', 'unknown']));
    expect(rows.map(({ name, status }) => [name, status])).toEqual([
      ['host', 'Up'],
      ['vm', 'Restarting'],
      ['host', 'Up'],
    ]);
    expect(summaryOf(rows)).toBe('3 processes, 1 of them restarts');
    expect(withRestarting([...others, seen], known, ['i'])).toHaveLength(3);
  });

  it('a control plane that is down does not lead, and the only one is not removed', () => {
    const down = peer('a', ['control-plane'], { status: 'Down', leadsSince: 'x' });
    const indexer = peer('i', ['indexer'], { status: 'Down' });
    expect(rowsOf([down])[0]?.leads).toBe(false);
    expect(mayBeRemoved([down, indexer], down)).toBe(false);
    expect(mayBeRemoved([down, peer('b', ['control-plane'])], down)).toBe(true);
    expect(mayBeRemoved([down, indexer], indexer)).toBe(true);
  });
});

import { describe, expect, it } from 'vitest';
import { decodeJob } from '../api/decode';
import { appsOf, countText, filtered, lifetime, rowsOf, stateWord } from './jobRows';

const job = (sid: string, owner: string, content: object) => ({
  sid,
  owner,
  search: `search of ${sid}`,
  app: 'search',
  label: '',
  provenance: 'rest',
  created: '',
  earliest: '',
  latest: '',
  status: decodeJob({ content }),
});
const ALL = { state: 'all', user: '', app: '', withPages: false, text: '' } as const;
const RUNNING = job('r', 'ann', { dispatchState: 'RUNNING', doneProgress: 0.1 });
const DONE = job('d', 'bob', { dispatchState: 'DONE', isDone: true });
const FAILED = job('f', 'ann', { dispatchState: 'FAILED', isDone: true, isFailed: true });

describe('rows of the jobs page', () => {
  it('show the last status and leave out what is gone', () => {
    const cost = { dollars: 0.1, storeRequests: 2, bytes: { dram: 1, nvme: 2, store: 3 } };
    const jobs = new Map([['r', { status: decodeJob({ content: { isDone: true } }), cost }]]);
    const rows = rowsOf([RUNNING, DONE], { jobs, unknown: ['d'] });
    expect(rows.map((row) => [row.sid, stateWord(row), row.cost?.dollars])).toEqual([
      ['r', 'Done', 0.1],
    ]);
  });

  it('are filtered by state, user and text', () => {
    const rows = rowsOf([RUNNING, DONE, FAILED], null);
    const sids = (filter: Partial<Parameters<typeof filtered>[1]>) =>
      filtered(rows, { ...ALL, ...filter }).map((row) => row.sid);
    expect(sids({})).toEqual(['r', 'd', 'f']);
    expect(sids({ state: 'running' })).toEqual(['r']);
    expect(sids({ state: 'done' })).toEqual(['d']);
    expect(sids({ state: 'failed' })).toEqual(['f']);
    expect(sids({ user: 'ann', text: 'OF F' })).toEqual(['f']);
  });

  it('are those of all apps or of one, without those of panels and pages', () => {
    const panel = { ...DONE, sid: 'p', app: 'shop', provenance: 'UI:Dashboard:overview' };
    const rows = rowsOf([{ ...RUNNING, app: 'shop' }, DONE, panel], null);
    const sids = (filter: Partial<Parameters<typeof filtered>[1]>) =>
      filtered(rows, { ...ALL, ...filter }).map((row) => row.sid);
    expect(sids({})).toEqual(['r', 'd']);
    expect(sids({ withPages: true })).toEqual(['r', 'd', 'p']);
    expect(sids({ app: 'shop' })).toEqual(['r']);
    expect(appsOf(rows, '')).toEqual(['search', 'shop']);
    expect(appsOf(rows, 'old')).toEqual(['old', 'search', 'shop']);
  });

  it('have words for states and lifetimes', () => {
    expect(stateWord(RUNNING)).toBe('Running');
    expect(stateWord(FAILED)).toBe('Failed');
    expect(stateWord(job('x', 'a', { isDone: true, isFinalized: true }))).toBe('Stopped early');
    expect([90, 600, 7200, 604800].map(lifetime)).toEqual(['90 s', '10 min', '2 h', '7 d']);
  });
});

it('the number of jobs is told once it is known', () => {
  expect(countText(0, 0, true)).toBe('0 jobs');
  expect(countText(2, 1, true)).toBe('2 jobs, 1 running');
  expect(countText(0, 0, false)).toBe('');
});

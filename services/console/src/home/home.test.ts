import { describe, expect, it } from 'vitest';
import type { Entry } from '../api/types';
import { type Opened, readOpened, rememberOpened } from './opened';
import {
  agoText,
  beginning,
  currentOf,
  dashboardsOf,
  ownFirst,
  sourcesOf,
  warningsOf,
} from './overview';

function store() {
  const kept = new Map<string, string>();
  return {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
  };
}

const opened = (title: string, href = `/app/a/${title}`): Opened => ({
  kind: 'dashboard',
  title,
  app: 'a',
  href,
});

const entry = (name: string, content: Record<string, unknown>, owner = 'nobody'): Entry => ({
  name,
  path: '',
  app: 'search',
  owner,
  sharing: 'app',
  canWrite: true,
  isRemovable: true,
  readers: [],
  writers: [],
  links: [],
  content,
});

describe('opened dashboards and reports', () => {
  it('are kept newest first, each once, for each user', () => {
    const kept = store();
    for (const title of ['one', 'two', 'one']) rememberOpened(kept, 'ann', opened(title));
    expect(readOpened(kept, 'ann').map((one) => one.title)).toEqual(['one', 'two']);
    expect(readOpened(kept, 'bob')).toEqual([]);
  });

  it('are at most 30, and lead to pages of the console only', () => {
    const kept = store();
    for (let at = 0; at < 40; at += 1) rememberOpened(kept, 'ann', opened(`d${at}`));
    expect(readOpened(kept, 'ann').length).toBe(30);
    const list = [opened('evil', '//example.org'), opened('worse', 'javascript:1'), 7, null];
    kept.setItem('karst.opened.ann', JSON.stringify(list));
    expect(readOpened(kept, 'ann')).toEqual([]);
    kept.setItem('karst.opened.ann', '{');
    expect(readOpened(kept, 'ann')).toEqual([]);
  });
});

describe('the home page', () => {
  it('has the source that sent last first', () => {
    const rows = sourcesOf({
      fields: ['firstTime', 'recentTime', 'totalCount', 'sourcetype'],
      rows: [
        ['1', '100', '7', 'syslog'],
        ['1', '300', '2', 'json'],
        ['1', '0', '0', 'gone'],
      ],
      preview: false,
      messages: [],
    });
    expect(rows).toEqual([
      { name: 'json', received: 300, events: 2 },
      { name: 'syslog', received: 100, events: 7 },
    ]);
  });

  it('says how long ago in one unit', () => {
    expect([-5, 9, 59, 119, 120, 7_199, 7_200, 172_799, 172_800].map(agoText)).toEqual([
      'now',
      'now',
      '59 s ago',
      '119 s ago',
      '2 min ago',
      '119 min ago',
      '2 h ago',
      '47 h ago',
      '2 days ago',
    ]);
  });

  it('has the worst warning first', () => {
    const found = warningsOf([
      entry('a', { message: 'low', severity: 'info' }),
      entry('b', { message: 'full', severity: 'error' }),
      entry('c', { severity: 'warn' }),
    ]);
    expect(found.map((one) => one.text)).toEqual(['full', 'c', 'low']);
  });

  it('shortens long warnings between words', () => {
    expect(beginning('a short one', 11)).toBeNull();
    expect(beginning('the disk of node a is full', 20)).toBe('the disk of node a …');
    expect(beginning('0'.repeat(64), 10)).toBe('0000000000 …');
  });

  it('lists dashboards that are shown, own ones first', () => {
    const shown = { isDashboard: true, isVisible: '1' };
    const views = [
      entry('b', { ...shown, label: 'Bees' }),
      entry('c', { ...shown }, 'ann'),
      entry('set-up', { isDashboard: false, isVisible: true }),
      entry('hidden', { isDashboard: true, isVisible: false }),
    ];
    expect(dashboardsOf(views, 'ann').map((one) => one.label)).toEqual(['c', 'Bees']);
    expect(ownFirst([], 'ann')).toEqual([]);
  });
});

it('after a request that failed, nothing is said of an earlier answer', () => {
  expect(currentOf({ data: [], error: null })).toEqual([]);
  expect(currentOf({ data: [], error: new Error('away') })).toBeUndefined();
  expect(currentOf({ data: undefined, error: null })).toBeUndefined();
});

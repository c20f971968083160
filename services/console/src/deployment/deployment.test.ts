import { expect, it } from 'vitest';
import { decodeEntries } from '../api/decode';
import type { Entry } from '../api/types';
import {
  ago,
  appsText,
  decodeApp,
  decodeClass,
  decodeForwarder,
  decodeState,
  hasError,
  isSilent,
  matchingForwarders,
} from './deployment';

const entry = (content: Record<string, unknown>, name = 'x') =>
  decodeEntries({ entry: [{ name, id: `/services/x/${name}`, content }] })[0] as Entry;

const app = (more: Record<string, unknown>) => ({
  action: 'Noop',
  result: 'Ok',
  checksum: 'abc',
  installedChecksum: 'abc',
  failedReason: null,
  serverclasses: ['web'],
  ...more,
});

const FORWARDER = decodeForwarder(
  entry({
    clientName: 'web-7',
    hostname: 'web7',
    ip: '10.1.0.7',
    utsname: 'linux-x86_64',
    build: '0.1.0',
    lastPhoneHomeTime: 1_000,
    averagePhoneHomeInterval: 60,
    serverClasses: { web: {}, everybody: {} },
    applications: {
      nginx: app({}),
      outputs: app({ action: 'Install', result: 'Fail', failedReason: 'default/x.conf:2: no' }),
      new: app({ action: 'Install', result: 'Pending', installedChecksum: null }),
      gone: app({ checksum: null, installedChecksum: null }),
    },
  }),
);

it('a forwarder says what has become of its apps', () => {
  expect(FORWARDER.apps.map(({ name, state }) => [name, state])).toEqual([
    ['nginx', 'installed'],
    ['outputs', 'failed'],
    ['new', 'pending'],
    ['gone', 'missing'],
  ]);
  expect(appsText(FORWARDER)).toBe('1 of 4 installed, 1 pending, 1 failed, 1 not distributed');
  expect(hasError(FORWARDER)).toBe(true);
});

it('a forwarder that has missed three calls is silent', () => {
  expect(isSilent(FORWARDER, 1_180)).toBe(false);
  expect(isSilent(FORWARDER, 1_181)).toBe(true);
  expect(isSilent({ ...FORWARDER, interval: 600 }, 2_000)).toBe(false);
  expect(isSilent({ ...FORWARDER, interval: null }, 1_181)).toBe(true);
});

it('forwarders are filtered by text, class and what is wrong', () => {
  const other = { ...FORWARDER, guid: 'y', name: 'db-1', host: 'db1', classes: [], apps: [] };
  const all = [FORWARDER, other];
  const names = (text: string, serverClass = '', isOnlyWrong = false) =>
    matchingForwarders(all, { text, serverClass, isOnlyWrong }, 1_010).map(({ name }) => name);
  expect(names('NGINX')).toEqual(['web-7']);
  expect(names('', 'everybody')).toEqual(['web-7']);
  expect(names('', '', true)).toEqual(['web-7']);
  expect(names('10.1')).toHaveLength(2);
});

it('patterns of a class are in the order of their numbers', () => {
  const found = decodeClass(
    entry({
      'whitelist.10': 'c',
      'whitelist.2': 'b',
      'whitelist.0': 'a',
      'blacklist.0': 'x',
      'whitelist-size': 3,
      clients: 2,
      continueMatching: false,
      applications: { nginx: { restartSplunkd: true, stateOnClient: 'enabled' } },
    }),
  );
  expect(found.whitelist).toEqual(['a', 'b', 'c']);
  expect([found.blacklist, found.forwarders, found.continues]).toEqual([['x'], 2, false]);
  expect(found.apps).toEqual([{ name: 'nginx', restarts: true, state: 'enabled' }]);
});

it('an app that cannot be handed out has a reason', () => {
  const found = decodeApp(entry({ checksum: null, failedReason: 'a link: x', clients: 1 }));
  expect([found.checksum, found.reason, found.installed]).toEqual(['', 'a link: x', 1]);
});

it('a process without server classes is no deployment server', () => {
  expect(decodeState([entry({ disabled: true, error: null })]).isOn).toBe(false);
  expect(decodeState([entry({ disabled: false, loadTime: 5 })])).toMatchObject({
    isOn: true,
    error: '',
    loaded: 5,
  });
});

it('times are said as how long ago', () => {
  expect([0, 12, 300, 7_200, 500_000].map(ago)).toEqual([
    'now',
    '12 s ago',
    '5 min ago',
    '2 h ago',
    '6 days ago',
  ]);
});

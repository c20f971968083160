import { expect, it } from 'vitest';
import { decodeEntries } from '../api/decode';
import { decodeCopies, decodeLoads, decodeRecoveries, loadOf, recoveriesOf } from './load';

const fields = ['process', 'load', 'cpus', 'fill', 'found', 'read', 'waiting'];
const results = (...rows: (string | null)[][]) => ({
  fields,
  rows,
  preview: false,
  messages: [],
});

it('figures are those of the process, with or without dashes in its ID', () => {
  const peers = decodeLoads(
    results(
      ['a1b2', '0.52', '4', '12.5', '75', '100', '2'],
      ['c3', '1', null, null, '0', '0', '0'],
    ),
  );
  const load = { peers, recoveries: new Map(), copies: [] };
  expect(loadOf(load, 'a1-b2')).toEqual({ load: 0.52, cpus: 4, fill: 12.5, hits: 75, waiting: 2 });
  expect(loadOf(load, 'c3')).toEqual({ load: 1, cpus: null, fill: null, hits: null, waiting: 0 });
  expect(loadOf(load, 'd4')).toBeUndefined();
  expect(loadOf(undefined, 'a1b2')).toBeUndefined();
});

it('what a process recovers has the name of the lost one', () => {
  const entry = (peer: string, set: number) => ({
    name: `${peer}:${set}`,
    content: { peer, peer_label: `name of ${peer}`, set, assigned_to: 'a-1' },
  });
  const recoveries = decodeRecoveries(decodeEntries({ entry: [entry('x', 0), entry('x', 1)] }));
  const load = { peers: new Map(), recoveries, copies: [] };
  expect(recoveriesOf(load, 'a1')).toEqual(['name of x, set 0', 'name of x, set 1']);
  expect(recoveriesOf(load, 'b2')).toEqual([]);
});

it('copies are mentioned where there are too few', () => {
  const unmet = 'replication_factor cannot be met (1 of 3 indexers answer)';
  const health = (content: object) => decodeEntries({ entry: [{ name: 'manager', content }] });
  const messages = ['indexer-1 does not answer', unmet];
  expect(decodeCopies(health({ replication_factor_met: false, messages }))).toEqual([unmet]);
  expect(decodeCopies(health({ replication_factor_met: true, messages: [] }))).toEqual([]);
  expect(decodeCopies([])).toEqual([]);
});

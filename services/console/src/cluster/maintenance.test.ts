import { describe, expect, it } from 'vitest';
import type { KarstClient } from '../api/client';
import { decodeEntries } from '../api/decode';
import { effectsOf, setMaintenance } from './maintenance';
import { clusterState } from './rollingRestart';

const stateOf = (content: Record<string, unknown>) => {
  const entries = async () => decodeEntries({ entry: [{ name: 'status', content }] });
  return clusterState({ entries } as unknown as KarstClient);
};

describe('maintenance mode', () => {
  it('is on where the server says so', async () => {
    expect((await stateOf({ maintenance_mode: true })).isMaintained).toBe(true);
    expect((await stateOf({ maintenance_mode: false })).isMaintained).toBe(false);
    expect((await stateOf({})).isMaintained).toBe(false);
  });

  it('is turned on and off by the route of the cluster', async () => {
    const asked: [string, unknown][] = [];
    const change = async (path: string, form: unknown) => {
      asked.push([path, form]);
      return [];
    };
    const client = { change } as unknown as KarstClient;
    await setMaintenance(client, true);
    await setMaintenance(client, false);
    const path = '/services/cluster/manager/control/default/maintenance';
    expect(asked).toEqual([
      [path, { mode: 'true' }],
      [path, { mode: 'false' }],
    ]);
  });

  it('says what it stops, and what goes on', () => {
    const on = effectsOf(true).join(' ');
    for (const text of ['is not replaced', 'acknowledgements', 'refused', 'still recovered'])
      expect(on).toContain(text);
    expect(effectsOf(false).join(' ')).toContain('are replaced');
  });
});

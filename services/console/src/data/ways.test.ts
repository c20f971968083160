import { expect, it } from 'vitest';
import type { Me } from '../api/types';
import { WAYS, waysOf } from './ways';

const me = (...capabilities: string[]): Me => ({
  username: 'ann',
  roles: [],
  capabilities: new Set(capabilities),
  zone: '',
});
const ids = (who: Me) => waysOf(who).map(({ id }) => id);

it('only the ways to add data that the server lets a user go are offered', () => {
  expect(waysOf(null)).toEqual(WAYS);
  expect(ids(me())).toEqual([]);
  expect(ids(me('edit_tcp', 'list_inputs'))).toEqual(['upload', 'paste', 'syslog', 'forwarder']);
  expect(ids(me('edit_monitor'))).toEqual(['input']);
  expect(ids(me('admin_all_objects'))).toEqual(['s3']);
});

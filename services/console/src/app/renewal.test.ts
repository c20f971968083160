import { expect, it, vi } from 'vitest';
import { Renewal } from './renewal';
import type { Session } from './session';

const ANN: Session = { username: 'ann', sessionKey: '' };

function renewal(found: Session | null, session = ANN) {
  const shown: boolean[] = [];
  const onOther = vi.fn();
  const whose = vi.fn(async () => found);
  const made = new Renewal({ session, whose, onChange: (is) => shown.push(is), onOther });
  return { made, shown, onOther, whose };
}

it('requests wait together for one login, and go on after it', async () => {
  const { made, shown, whose } = renewal(null);
  const waiting = Promise.all([made.renew(''), made.renew('')]);
  await vi.waitFor(() => expect(shown).toEqual([true]));
  expect(whose).toHaveBeenCalledTimes(1);
  made.begin(ANN);
  expect(await waiting).toEqual(['', '']);
  expect(shown).toEqual([true, false]);
});

it('a session that another tab has renewed goes on without a login', async () => {
  const { made, shown } = renewal(ANN);
  expect(await made.renew('')).toBe('');
  expect(shown).not.toContain(true);
});

it('after a login of another user nothing goes on', async () => {
  const { made, shown, onOther } = renewal(null);
  const goOn = vi.fn();
  void made.renew('').then(goOn);
  await vi.waitFor(() => expect(shown).toEqual([true]));
  made.begin({ username: 'bob', sessionKey: '' });
  await Promise.resolve();
  expect(onOther).toHaveBeenCalledTimes(1);
  expect([goOn.mock.calls.length, shown]).toEqual([0, [true]]);
});

it('a browser without cookies goes on with the new key, also after a late answer', async () => {
  const { made, shown } = renewal(null, { username: 'ann', sessionKey: 'A' });
  const waiting = made.renew('A');
  await vi.waitFor(() => expect(shown).toEqual([true]));
  made.begin({ username: 'ann', sessionKey: 'B' });
  expect(await waiting).toBe('B');
  expect(await made.renew('A')).toBe('B');
  expect(shown).toEqual([true, false]);
});

it('a request that is aborted does not wait', async () => {
  const { made } = renewal(null);
  const controller = new AbortController();
  const waiting = made.renew('', controller.signal);
  controller.abort();
  await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
});

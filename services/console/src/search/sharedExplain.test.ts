import { expect, it, vi } from 'vitest';
import { ApiError } from '../api/client';
import { sharedExplain } from './sharedExplain';

const EXPLANATION = { estimate: null, commands: [] };
const request = { search: 'index=a', earliest: '-1h', latest: 'now', timezone: 'UTC' };
const refusal = (kind: 'rejected' | 'unreachable') => new ApiError(kind, 0, []);

it('a search is explained once for all who ask, and again after a change or a while', async () => {
  vi.useFakeTimers();
  const asked = vi.fn(async () => EXPLANATION as never);
  const explain = sharedExplain({ explain: asked });
  await Promise.all([explain(request), explain({ ...request })]);
  expect(asked).toHaveBeenCalledTimes(1);
  await explain({ ...request, earliest: '-2h' });
  expect(asked).toHaveBeenCalledTimes(2);
  vi.advanceTimersByTime(5_000);
  await explain({ ...request, earliest: '-2h' });
  expect(asked).toHaveBeenCalledTimes(3);
  vi.useRealTimers();
});

it('a refusal is kept as well, other failures are not', async () => {
  const rejected = vi.fn(() => Promise.reject(refusal('rejected')));
  const explain = sharedExplain({ explain: rejected });
  await expect(explain(request)).rejects.toThrow();
  await expect(explain(request)).rejects.toThrow();
  expect(rejected).toHaveBeenCalledTimes(1);
  const away = vi.fn(() => Promise.reject(refusal('unreachable')));
  const again = sharedExplain({ explain: away });
  await expect(again(request)).rejects.toThrow();
  await expect(again(request)).rejects.toThrow();
  expect(away).toHaveBeenCalledTimes(2);
});

it('an answer that takes long is waited for, and holds from when it came', async () => {
  vi.useFakeTimers();
  const asked = vi.fn(
    () => new Promise<never>((resolve) => setTimeout(() => resolve(EXPLANATION as never), 8_000)),
  );
  const explain = sharedExplain({ explain: asked });
  const first = explain(request);
  await vi.advanceTimersByTimeAsync(6_000);
  const second = explain(request);
  await vi.advanceTimersByTimeAsync(2_000);
  await Promise.all([first, second]);
  await vi.advanceTimersByTimeAsync(4_000);
  await explain(request);
  expect(asked).toHaveBeenCalledTimes(1);
  vi.useRealTimers();
});

it('an explanation ends once another search is asked for, unless only spaces differ', () => {
  const signals: AbortSignal[] = [];
  const asked = (_request: object, signal?: AbortSignal) => {
    if (signal) signals.push(signal);
    return new Promise<never>(() => {});
  };
  const explain = sharedExplain({ explain: asked });
  for (const search of [' index=a', 'index=a', 'index=b']) void explain({ ...request, search });
  expect(signals.map((signal) => signal.aborted)).toEqual([false, true, false]);
});

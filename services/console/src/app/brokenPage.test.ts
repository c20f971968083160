import { expect, it } from 'vitest';
import { ApiError, type KarstClient } from '../api/client';
import { isPartMissing, isReachable } from './brokenPage';

it('a script or a style sheet that was not loaded is a missing part, in the words of each browser', () => {
  for (const message of [
    'Failed to fetch dynamically imported module: https://karst/assets/JobsPage-1.js',
    'error loading dynamically imported module: https://karst/assets/JobsPage-1.js',
    'Importing a module script failed.',
    'Unable to preload CSS for /assets/JobsPage-1.css',
  ]) {
    expect(isPartMissing(new Error(message)), message).toBe(true);
  }
  expect(isPartMissing(new TypeError('x is undefined'))).toBe(false);
});

const answering = (answer: () => unknown) =>
  ({ welcome: async () => answer() }) as unknown as KarstClient;
const failing = (kind: ConstructorParameters<typeof ApiError>[0]) =>
  answering(() => {
    throw new ApiError(kind, 0, []);
  });

it('a server that refuses can be reached, one that does not answer cannot', async () => {
  expect(await isReachable(answering(() => ({ providers: [], user: null })))).toBe(true);
  expect(await isReachable(failing('busy'))).toBe(true);
  expect(await isReachable(failing('unreachable'))).toBe(false);
});

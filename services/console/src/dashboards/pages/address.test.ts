import { afterEach, expect, it, vi } from 'vitest';
import { isOtherQuery, replaceQuery, writeQuery } from './address';

afterEach(() => vi.unstubAllGlobals());

it('a choice is a step of the history, a change by the page is none', () => {
  const steps: [string, string][] = [];
  const step = (way: string) => (_: unknown, __: string, to: string) => steps.push([way, to]);
  const location = { pathname: '/app/a/v', search: '?form.m=GET' };
  const history = { pushState: step('push'), replaceState: step('replace') };
  vi.stubGlobal('window', { location, history });
  writeQuery(new URLSearchParams('form.m=POST'), true);
  writeQuery(new URLSearchParams('form.m=GET'), true);
  writeQuery(new URLSearchParams('form.m=PUT'), false);
  replaceQuery(new URLSearchParams());
  expect(steps).toEqual([
    ['push', '/app/a/v?form.m=POST'],
    ['replace', '/app/a/v?form.m=PUT'],
    ['replace', '/app/a/v'],
  ]);
  expect(isOtherQuery('http://x/app/a/v?form.m=POST')).toBe(true);
  expect(isOtherQuery('http://x/app/a/v?form.m=GET#place')).toBe(false);
  expect(isOtherQuery('http://x/app/a/other?form.m=POST')).toBe(false);
});

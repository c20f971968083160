import { afterEach, expect, it, vi } from 'vitest';
import { dashboardServer } from './server';

afterEach(() => vi.unstubAllGlobals());

it('the navigation of an app is found in a list, as asking for a missing one is an error', async () => {
  const sent: string[] = [];
  const nav = (name: string, app: string) => ({
    name,
    acl: { app },
    content: { 'eai:data': `<nav>${app}</nav>` },
  });
  vi.stubGlobal('fetch', async (url: string) => {
    sent.push(url.split('?')[0] ?? '');
    return Response.json({
      entry: [nav('default', 'other'), nav('old', 'shop'), nav('default', 'shop')],
    });
  });
  const server = dashboardServer({ username: 'ann', sessionKey: 'KEY' });
  expect(await server.readNavigation('shop')).toBe('<nav>shop</nav>');
  expect(await server.readNavigation('search')).toBeNull();
  expect(sent).toEqual(['/servicesNS/ann/shop/data/ui/nav', '/servicesNS/ann/search/data/ui/nav']);
});

it('a dashboard whose session has ended waits for the next one, also for its rows', async () => {
  const sent: string[] = [];
  const answer = async (url: string, { headers }: { headers: Record<string, string> }) => {
    sent.push(`${headers.Authorization} ${url.split('?')[0]}`);
    if (headers.Authorization === 'Splunk OLD') return new Response('{}', { status: 401 });
    return Response.json(
      url.includes('/results') ? { fields: ['a'], rows: [['1']] } : { sid: 'S' },
    );
  };
  vi.stubGlobal('fetch', answer);
  const renew = vi.fn(async () => 'NEW');
  const server = dashboardServer({ username: 'ann', sessionKey: 'OLD', renew });
  const spec = { app: 'search', search: 'x', earliest: '', latest: '', timezone: 'UTC' };
  expect(await server.createJob(spec)).toBe('S');
  expect((await server.rows('S', false, 10, null)).fields).toEqual(['a']);
  expect(renew).toHaveBeenCalledTimes(2);
  expect(sent).toEqual([
    'Splunk OLD /servicesNS/ann/search/search/v2/jobs',
    'Splunk NEW /servicesNS/ann/search/search/v2/jobs',
    'Splunk OLD /services/search/v2/jobs/S/results',
    'Splunk NEW /services/search/v2/jobs/S/results',
  ]);
});

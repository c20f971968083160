/**
 * Opens the dashboard `twenty` of the app `gallery`, whose 20 panels have a search each, and counts the requests
 * for the status of jobs: over HTTP/2, over HTTP/1.1, and where the stream is blocked.
 *
 *   KARST_URL=https://localhost:8089 KARST_USER=admin KARST_PASSWORD=... node e2e/jobStream.e2e.mjs
 *
 * The server needs the app and the dashboard (tests/clients/test_dashboards.py). With https, a stream is expected.
 */

import { check, signIn, walk } from './browser.mjs';

const url = process.env.KARST_URL ?? 'http://localhost:8000';
const isMultiplexed = url.startsWith('https:');
const PANELS = 20;
/** Requests are a second apart by the timers of the page, which are precise to some milliseconds. */
const SECOND = 900;

const id = (name) => `[data-testid="${name}"]`;
const STREAM = '/api/v1/jobs/stream';
const STATUS = '/api/v1/jobs/status';

/** The requests for statuses, by the clock of the page: on a busy machine, this program hears of them late. */
const seen = [];

/** Runs in the page, before its scripts: tells of each request when it is made. */
function tellOfRequests([stream, status]) {
  const { fetch, noteRequest } = globalThis;
  globalThis.fetch = (url, options) => {
    const { pathname } = new URL(url, location.href);
    // A job by itself, as the search page of older versions asked for it.
    const isJob = /\/search\/(v2\/)?jobs\/[^/]+$/.test(pathname) && options?.method !== 'DELETE';
    if (pathname === stream || pathname === status || isJob) {
      const page = location.pathname;
      void noteRequest({ kind: isJob ? 'job' : pathname, at: Date.now(), page });
    }
    return fetch(url, options);
  };
}

async function watch(page) {
  // The home page behind the login has a search, too, whose requests may come late.
  await page.exposeFunction('noteRequest', (request) => {
    if (request.page.startsWith('/app/gallery/')) seen.push(request);
  });
  await page.addInitScript(tellOfRequests, [STREAM, STATUS]);
}

const count = (kind) => seen.filter((one) => one.kind === kind).length;

/** Opens the dashboard anew, until all of its searches have ended. */
async function opened(page) {
  seen.length = 0;
  await page.goto(`${url}/app/gallery/twenty`);
  await page.waitForSelector(`${id('progress')}[data-done="true"]`, {
    state: 'attached',
    timeout: 90_000,
  });
  await page.waitForFunction(
    ([rows, most]) => document.querySelectorAll(rows).length === most,
    [`${id('dashboard-table')}`, PANELS],
  );
  const failed = await page.locator('[data-state="failed"]').allTextContents();
  check(failed.length === 0, `no search fails: ${failed.join('\n')}`);
}

/** At most one request for statuses in any second. */
function calm() {
  const within = (from) => seen.filter(({ at }) => at >= from && at < from + SECOND).length;
  const most = Math.max(0, ...seen.map(({ at }) => within(at)));
  const begin = seen[0]?.at ?? 0;
  const all = seen.map(({ kind, at }) => `${at - begin} ms ${kind}`).join('\n');
  check(most <= 1, `one request for statuses a second, not ${most}:\n${all}`);
}

const steps = {
  async 'a person logs in'(page) {
    await page.goto(url);
    await signIn(page);
    await page.waitForSelector(id('user-menu'));
    // Every panel is on the screen.
    await page.setViewportSize({ width: 1440, height: 9_000 });
  },

  async 'twenty panels ask at most once a second for the state of their searches'(page) {
    await opened(page);
    calm();
    check(count('job') === 0, 'no job is asked for by itself');
    if (isMultiplexed) {
      check(count(STREAM) > 0, 'over HTTP/2, there is a stream');
      // A busy machine may need a second to open it.
      check(count(STATUS) <= 2, `and hardly a request: ${count(STATUS)}`);
    } else {
      check(count(STREAM) === 0, 'over HTTP/1.1, there is no stream');
      check(count(STATUS) > 0, 'but requests');
    }
  },

  async 'a search of the search page is followed in the same way'(page) {
    await page.setViewportSize({ width: 1440, height: 900 });
    seen.length = 0;
    const query = encodeURIComponent('index=gallery | stats count by host');
    await page.goto(`${url}/app/gallery/search?q=${query}&earliest=-2d&latest=now`);
    await page.getByText('Complete', { exact: true }).first().waitFor();
    if (isMultiplexed) check(count(STREAM) > 0, 'by a stream');
    else check(count(STREAM) === 0, 'without a stream');
  },

  async 'where the stream is refused, requests take its place'(page) {
    await page.setViewportSize({ width: 1440, height: 9_000 });
    await page.route(`**${STREAM}*`, (route) => route.abort());
    await opened(page);
    calm();
    check(count(STATUS) > 0, 'statuses are asked for');
    await page.unroute(`**${STREAM}*`);
  },

  async 'a proxy that keeps the events back does not stop the page'(page) {
    // Neither answered nor ended.
    await page.route(`**${STREAM}*`, () => {});
    await opened(page);
    calm();
    check(count(STATUS) > 0, 'statuses are asked for');
    await page.unroute(`**${STREAM}*`, { behavior: 'ignoreErrors' });
  },
};

await walk('job-stream', steps, { begin: watch });

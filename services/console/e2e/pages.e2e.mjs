/**
 * Every page in light and dark at three widths: no violation of WCAG 2.2 AA that axe finds (see LOOKS), no error in
 * the console, no sideways scrolling of the page, and a picture.
 *
 *   KARST_URL=http://localhost:8000 KARST_USER=admin KARST_PASSWORD=... node e2e/pages.e2e.mjs [page ...]
 *
 * KARST_E2E_QUERY chooses the events (default `index=*`); at least one must match over all time.
 */

import {
  BY_COLOR,
  BY_LAYOUT,
  check,
  openBrowser,
  openPage,
  screenshot,
  signIn,
  violations,
} from './browser.mjs';
import { DEPLOYMENT, statesOf, withDeployment } from './states.mjs';

const url = process.env.KARST_URL ?? 'http://localhost:8000';
const query = process.env.KARST_E2E_QUERY ?? 'index=*';
/**
 * How every page is looked at, and the rules of axe that may find something there that was not found before: null
 * for all, at the widest, and where bars and menus fold. Names, roles and labels do not depend on the scheme,
 * colours not on the width, apart from what only the narrow page shows.
 */
const LOOKS = [
  ['light', 1440, null],
  ['light', 1024, BY_LAYOUT],
  ['light', 390, null],
  ['dark', 1440, BY_COLOR],
  ['dark', 1024, []],
  ['dark', 390, BY_COLOR],
];
/** Pages at a time: as many as a machine has cores to draw them. */
const WORKERS = 2;

const id = (name) => `[data-testid="${name}"]`;
const searchOf = (q, more = {}) =>
  `/app/search/search?${new URLSearchParams({ q, earliest: '0', latest: '', ...more })}`;
const done = (page) => page.waitForSelector(`${id('job')}[data-phase="done"]`);
const EMPTY = '/app/search/search';
const REPORT = `${query} | stats count by host, source, sourcetype`;

/** Address and way of every page and state that is looked at. */
const PAGES = {
  async home(page) {
    await PAGES.statistics(page);
    await page.goto(`${url}/`);
    await page
      .locator(`${id('home-health')} a[href*="sourcetype"]`)
      .first()
      .waitFor();
    await page
      .locator(`${id('home-reports')} li`)
      .first()
      .waitFor();
  },
  async 'home-empty'(page) {
    // As a server without events answers.
    const answer = { fields: [], rows: [], preview: false };
    const results = '**/services/search/v2/jobs/*/results?*';
    await page.route(results, (route) => route.fulfill({ json: answer }));
    await page.goto(`${url}/`);
    await page.waitForSelector(id('first-steps'));
    await page.unroute(results);
  },
  async empty(page) {
    await page.goto(url + EMPTY);
    await page.waitForSelector(id('empty'));
    await page.waitForSelector(id('search-input'));
  },
  async events(page) {
    await page.goto(url + searchOf(query));
    await done(page);
    await page.waitForSelector(id('event'));
    await page.waitForSelector(id('timeline'));
  },
  async 'event-open'(page) {
    await PAGES.events(page);
    await page
      .locator(`${id('event')} [aria-expanded]`)
      .first()
      .click();
    await page.waitForSelector(id('event-fields'));
  },
  async 'event-details'(page) {
    await PAGES['event-open'](page);
    await page.click(id('event-details'));
    await page.waitForSelector(id('surrounding'));
  },
  async field(page) {
    await PAGES.events(page);
    const field = page.locator(id('field-sourcetype'));
    if (!(await field.isVisible()))
      await page.getByRole('button', { name: 'Fields', exact: true }).click();
    await field.click();
    await page.waitForSelector(id('field-panel'));
  },
  async patterns(page) {
    await page.goto(url + searchOf(query, { 'display.page.search.tab': 'patterns' }));
    await page.waitForSelector(id('pattern'));
  },
  async compare(page) {
    const range = { earliest: '-20m', latest: 'now', 'display.page.search.tab': 'compare' };
    await page.goto(url + searchOf(query, range));
    await page.waitForSelector(`${id('compare')} [role="status"]`);
  },
  async live(page) {
    await page.goto(url + searchOf(query, { live: '1' }));
    await page.getByText('Waiting for events that match').waitFor();
  },
  async statistics(page) {
    await page.goto(url + searchOf(REPORT));
    await done(page);
    await page.waitForSelector(`${id('statistics-table')} tbody tr`);
  },
  async chart(page) {
    await page.goto(url + searchOf(`${query} | timechart count by host`));
    await done(page);
    await page.waitForSelector(`${id('chart')} canvas`);
  },
  async completeness(page) {
    await PAGES.statistics(page);
    await page.click(id('completeness'));
    await page.waitForSelector('[role="dialog"]');
  },
  async estimate(page) {
    await page.goto(url + EMPTY);
    await page.waitForSelector(id('search-input'));
    await page.click(id('search-input'));
    await page.keyboard.insertText(query);
    await page.click(id('estimate'));
    await page.waitForSelector(id('estimate-panel'));
  },
  async 'save-report'(page) {
    await PAGES.statistics(page);
    await page.click(id('save'));
    await page.click(id('save-report'));
    await page.waitForSelector(id('report-form'));
  },
  async 'share-job'(page) {
    await PAGES.statistics(page);
    await page.click(id('save'));
    await page.click(id('share'));
    await page.waitForSelector(`${id('share-job')} pre`);
  },
  async mistake(page) {
    await page.goto(url + searchOf(`${query} | stast count`));
    await page.waitForSelector(`${id('job')}[data-phase="failed"]`);
    await page.waitForSelector(id('search-input'));
  },
  async 'no-events'(page) {
    await page.goto(url + searchOf('a_word_that_is_nowhere_9f3'));
    await done(page);
    await page.waitForSelector(id('no-events'));
  },
  async held(page) {
    await page.goto(url + searchOf(`${query} | outputlookup e2e_pages.csv`));
    await page.waitForSelector(id('held'));
  },
  async 'time-range'(page) {
    await PAGES.empty(page);
    await page.click(id('time-range'));
    await page.waitForSelector(id('time-range-panel'));
  },
  async palette(page) {
    await PAGES.empty(page);
    await page.click(id('open-palette'));
    await page.waitForSelector('[role="listbox"]');
  },
  async keys(page) {
    await PAGES.empty(page);
    await page.click(id('user-menu'));
    await page.click('[role="menuitem"]:has-text("Keys")');
    await page.waitForSelector('[role="dialog"]');
  },
  async jobs(page) {
    await PAGES.statistics(page);
    await page.goto(`${url}/jobs`);
    await page.waitForSelector(id('job-row'));
  },
  async inspector(page) {
    await PAGES.statistics(page);
    await page.click(id('cost'));
    await page.waitForSelector(id('conclusion'));
  },
  async reports(page) {
    await page.goto(`${url}/app/search/reports`);
    await page.waitForSelector(id('reports'));
  },
  async cluster(page) {
    await page.goto(`${url}/monitor/cluster`);
    await page.getByText('does not belong to a cluster').waitFor();
  },
  async bundle(page) {
    await page.goto(`${url}/monitor/bundle`);
    await page.waitForSelector(`${id('no-bundle')}, ${id('active-bundle')}`);
  },
  async 'bundle-form'(page) {
    await PAGES.bundle(page);
    await page.click(id('plan-bundle'));
    await page.waitForSelector(id('bundle-form'));
  },
  async performance(page) {
    await page.goto(`${url}/monitor/performance`);
    await page.waitForSelector(`${id('progress')}[data-done="true"]`, { state: 'attached' });
  },
  async cost(page) {
    await page.goto(`${url}/monitor/cost`);
    await page.waitForSelector(`${id('progress')}[data-done="true"]`, { state: 'attached' });
  },
  async prices(page) {
    await PAGES.cost(page);
    await page.click('button:has-text("Prices")');
    await page.waitForSelector(id('prices-form'));
  },
  async indexes(page) {
    await page.goto(`${url}/data/indexes`);
    await page.waitForSelector(id('object-row'));
  },
  async 'index-form'(page) {
    await page.goto(`${url}/data/indexes/main`);
    await page.waitForSelector(id('object-form'));
  },
  async 'index-removal'(page) {
    await PAGES.indexes(page);
    // The index of the query: one that is built in may not be removed.
    const name = /index=(\w+)/.exec(query)?.[1];
    if (!name) return;
    await page.click(`[aria-label="More for ${name}"]`);
    await page.click('[role="menuitem"]:has-text("Delete")');
    await page.waitForSelector(id('loss'));
  },
  async 'add-data'(page) {
    await page.goto(`${url}/data/add`);
    await page.waitForSelector(id('ways'));
  },
  async 'add-paste'(page) {
    await page.goto(`${url}/data/add/paste`);
    await page.fill('textarea', '2026-11-26 10:00:00 user=a\n2026-11-26 10:00:01 user=b');
    await page
      .locator(`${id('preview-event')} button`)
      .first()
      .click();
    await page.waitForSelector(id('preview-fields'));
  },
  async 'add-upload'(page) {
    await page.goto(`${url}/data/add/upload`);
    await page.waitForSelector(id('drop'));
  },
  async 'preview-mistake'(page) {
    await PAGES['add-paste'](page);
    await page.fill('[name="props.LINE_BREAKER"]', '(');
    await page.locator(`${id('props-form')} :text("bad regular expression")`).waitFor();
  },
  async 'save-source-type'(page) {
    await PAGES['add-paste'](page);
    await page.selectOption('[name="props.SHOULD_LINEMERGE"]', 'false');
    await page.click(id('save-as'));
    await page.waitForSelector(id('save-source-type'));
  },
  async 'add-hec'(page) {
    await page.goto(`${url}/data/add/hec`);
    await page.waitForSelector(id('recipes'));
  },
  async 'add-elasticsearch'(page) {
    await page.goto(`${url}/data/add/elasticsearch`);
    await page.waitForSelector(id('recipes'));
  },
  async 'add-loki'(page) {
    await page.goto(`${url}/data/add/loki`);
    await page.waitForSelector(id('recipes'));
  },
  async 'add-syslog'(page) {
    await page.goto(`${url}/data/add/syslog`);
    await page.waitForSelector(id('recipes'));
  },
  async 'add-otlp'(page) {
    await page.goto(`${url}/data/add/otlp`);
    await page.waitForSelector(id('recipes'));
  },
  async 'add-forwarder'(page) {
    await page.goto(`${url}/data/add/forwarder`);
    await page.waitForSelector(id('recipes'));
  },
  async 'add-s3'(page) {
    await page.goto(`${url}/data/add/s3`);
    await page.waitForSelector(id('s3-form'));
  },
  async 'hec-tokens'(page) {
    await page.goto(`${url}/data/tokens`);
    await page.waitForSelector(id('object-row'));
  },
  async deployment(page) {
    await withDeployment(page, DEPLOYMENT.config);
    await page.goto(`${url}/data/deployment`);
    await page.click('button:has-text("web-7")');
    await page.waitForSelector(id('forwarder-apps'));
  },
  async 'deployment-classes'(page) {
    await withDeployment(page, DEPLOYMENT.config);
    await page.goto(`${url}/data/deployment/serverclasses`);
    await page.waitForSelector(id('classes'));
  },
  async 'deployment-apps'(page) {
    await withDeployment(page, DEPLOYMENT.config);
    await page.goto(`${url}/data/deployment/applications`);
    await page.waitForSelector(id('deployed-apps'));
  },
  async 'deployment-reload'(page) {
    await withDeployment(page, DEPLOYMENT.config);
    await page.goto(`${url}/data/deployment`);
    await page.click(id('reload'));
    await page.waitForSelector(id('reload-form'));
  },
  async 'deployment-none'(page) {
    await withDeployment(page, { config: { disabled: true, error: null } });
    await page.goto(`${url}/data/deployment`);
    await page.waitForSelector(id('no-deployment'));
  },
  async 'source-types'(page) {
    await page.goto(`${url}/data/sourcetypes`);
    await page.waitForSelector(id('object-row'));
  },
  async users(page) {
    await page.goto(`${url}/settings/users`);
    await page.waitForSelector(id('object-row'));
  },
  async roles(page) {
    await page.goto(`${url}/settings/roles`);
    await page.waitForSelector(id('object-row'));
  },
  async lookups(page) {
    await page.goto(`${url}/settings/lookup-definitions`);
    await page.waitForSelector(id('object-row'));
  },
  async 'role-form'(page) {
    await page.goto(`${url}/settings/roles/power`);
    await page.waitForSelector(`${id('object-form')} [type="checkbox"]`);
  },
  async apps(page) {
    await page.goto(`${url}/settings/apps`);
    await page.waitForSelector(id('object-row'));
  },
  async 'app-upload'(page) {
    await PAGES.apps(page);
    await page.click(id('upload-app'));
    await page.waitForSelector('[role="dialog"]');
  },
  async extractions(page) {
    await page.goto(`${url}/settings/extractions`);
    await page.waitForSelector(id('object-row'));
  },
  async 'automatic-lookup-form'(page) {
    await page.goto(`${url}/settings/automatic-lookups/_new`);
    await page.waitForSelector(id('object-form'));
  },
  async 'field-transform-form'(page) {
    await page.goto(`${url}/settings/field-transforms/_new`);
    await page.waitForSelector(id('object-form'));
  },
  async macro(page) {
    await page.goto(`${url}/settings/macros/comment(1)`);
    await page.waitForSelector(id('object-form'));
  },
  async conf(page) {
    await page.goto(`${url}/settings/conf/limits`);
    await page.waitForSelector(id('settings'));
  },
  async 'conf-all'(page) {
    await page.goto(`${url}/settings/conf`);
    await page.waitForSelector(id('settings'));
  },
  async 'conf-none'(page) {
    await page.goto(`${url}/settings/conf?filter=a_word_that_is_nowhere`);
    await page.waitForSelector(id('nothing'));
  },
  async 'conf-unknown'(page) {
    await page.goto(`${url}/settings/conf/nothing`);
    await page.waitForSelector(id('failed'));
  },
  async 'conf-setting'(page) {
    await PAGES.conf(page);
    await page.click('button:has-text("max_plan_time")');
    await page.waitForSelector(id('setting'));
  },
  async 'not-found'(page) {
    await page.goto(`${url}/settings/nothing`);
    await page.waitForSelector(id('not-found'));
  },
  ...statesOf({ url, at: searchOf, query, report: REPORT }),
};

/** What is wrong with the page that is shown, in one scheme at one width. */
async function look(page, name, [scheme, width, rules]) {
  const label = `${width}-${scheme}`;
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
  await page.setViewportSize({ width, height: width < 500 ? 844 : 900 });
  await page.evaluate(() => document.fonts.ready);
  // Whatever fades in is there: colours of the half way are nobody's. Two frames: the page has seen its size.
  await page.waitForFunction(() =>
    document.getAnimations().every((one) => one.playState !== 'running'),
  );
  await page.evaluate(
    () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
  );
  await screenshot(page, `page-${name}-${label}`);
  const found = rules?.length === 0 ? [] : await violations(page, rules ?? undefined);
  const sideways = await page.evaluate(() => {
    const main = document.getElementById('main');
    return Math.max(
      document.documentElement.scrollWidth - innerWidth,
      main ? main.scrollWidth - main.clientWidth : 0,
    );
  });
  if (sideways > 0) found.push(`the page scrolls sideways by ${sideways} px`);
  return found.map((text) => `${name} ${label}: ${text}`);
}

/** The page that is shown, in every scheme at every width, and what it wrote to the console. */
async function lookAll(page, problems, name) {
  const found = [];
  for (const one of LOOKS) found.push(...(await look(page, name, one)));
  found.push(...problems.map((text) => `${name}: ${text}`));
  problems.length = 0;
  return found;
}

/** Signs in by a browser of its own, then takes pages until none is left. */
async function work(names) {
  // axe is added as a script, which the policy of the console forbids.
  const { page, problems } = await openPage(browser, { bypassCSP: true });
  const found = [];
  await page.goto(`${url}/jobs`);
  await page.waitForSelector('input[name="username"]');
  if (!isLoginSeen) {
    isLoginSeen = true;
    found.push(...(await lookAll(page, problems, 'login')));
  }
  await signIn(page);
  await page.waitForFunction(() => document.title.startsWith('Jobs'));
  check(new URL(page.url()).pathname === '/jobs', 'the login leads back to the address');
  for (let name = names.shift(); name; name = names.shift()) {
    try {
      await page.setViewportSize({ width: 1440, height: 900 });
      await page.unrouteAll({ behavior: 'ignoreErrors' });
      await PAGES[name](page);
      found.push(...(await lookAll(page, problems, name)));
      console.log(`looked at ${name}`);
    } catch (error) {
      found.push(`${name}: ${error.message}`);
      await screenshot(page, `failed-${name}`);
    }
  }
  await page.context().close();
  return found;
}

const chosen = process.argv.slice(2);
const waiting = Object.keys(PAGES).filter((name) => chosen.length === 0 || chosen.includes(name));
let isLoginSeen = false;
const browser = await openBrowser();
const found = (await Promise.all(Array.from({ length: WORKERS }, () => work(waiting)))).flat();
await browser.close();
if (found.length > 0) console.error(found.join('\n'));
process.exit(found.length > 0 ? 1 : 0);

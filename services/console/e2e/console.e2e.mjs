/**
 * Walks through the page as a person would and checks what it shows.
 *
 *   KARST_URL=http://localhost:8000 KARST_USER=admin KARST_PASSWORD=... npm run e2e
 *
 * KARST_E2E_QUERY chooses the events (default `index=*`); at least one must match over all time.
 */

import { check, openBrowser, openPage, screenshot } from './browser.mjs';

const url = process.env.KARST_URL ?? 'http://localhost:8000';
const user = process.env.KARST_USER ?? 'admin';
const password = process.env.KARST_PASSWORD ?? 'changeme';
const query = process.env.KARST_E2E_QUERY ?? 'index=*';

const id = (name) => `[data-testid="${name}"]`;
const addressOf = (search) =>
  `${url}/?${new URLSearchParams({ q: search, earliest: '0', latest: '' })}`;

async function finished(page) {
  await page.waitForSelector(`${id('job')}[data-phase="done"]`);
}

async function run(page, search) {
  await page.fill(id('search-input'), search);
  await page.press(id('search-input'), 'Enter');
  await finished(page);
}

const steps = {
  async 'a wrong password is refused with a reason'(page) {
    await page.goto(url);
    await page.fill('input[name="username"]', user);
    await page.fill('input[name="password"]', `${password}-wrong`);
    await page.click('button[type="submit"]');
    await page.waitForSelector('[role="alert"]');
    await screenshot(page, '01-login-refused');
  },

  async 'the right one leads to the empty search page'(page) {
    await page.fill('input[name="password"]', password);
    await page.click('button[type="submit"]');
    await page.waitForSelector(id('empty'));
    await page.waitForSelector(id('server'));
    check((await page.textContent(id('user-menu'))).includes(user), 'the header names the user');
    await screenshot(page, '02-empty');
  },

  async 'a search shows events, timeline and fields'(page) {
    await page.goto(addressOf(query));
    await finished(page);
    await page.waitForSelector(id('event'));
    await page.waitForSelector(id('timeline'));
    await page.waitForSelector(`${id('fields')} ${id('field-host')}:not([disabled])`);
    check((await page.locator(id('event')).count()) <= 50, 'no more than a page of events');
    await screenshot(page, '03-events');
  },

  async 'an event opens to all its fields'(page) {
    await page
      .locator(`${id('event')} [aria-expanded]`)
      .first()
      .click();
    await page.waitForSelector(id('event-fields'));
    await screenshot(page, '04-event-fields');
  },

  async 'adding a value narrows the search and the address follows'(page) {
    await page.locator(id('add-host')).first().click();
    await finished(page);
    const typed = await page.inputValue(id('search-input'));
    check(typed.includes('host="'), 'the search holds the value');
    check(new URL(page.url()).searchParams.get('q') === typed, 'the address holds the search');
    await page.waitForSelector(id('event'));
    await page.goBack();
    await page.waitForFunction(
      ([selector, before]) => document.querySelector(selector).value === before,
      [id('search-input'), query],
    );
    await finished(page);
  },

  async 'a field opens to its top values'(page) {
    await page.click(id('field-sourcetype'));
    await page.waitForSelector(`${id('field-panel')} tbody tr`);
    await screenshot(page, '05-field-values');
  },

  async 'a quick report makes a table'(page) {
    await page.click(id('report-top'));
    await finished(page);
    await page.waitForSelector(`${id('statistics-table')} tbody tr`);
    await screenshot(page, '06-top-values');
  },

  async 'a table sorts by its columns'(page) {
    await run(page, `${query} | stats count by host`);
    const counts = async () =>
      (await page.locator(`${id('statistics-table')} tbody td:nth-child(2)`).allTextContents()).map(
        Number,
      );
    await page.click(`${id('statistics-table')} th:nth-child(2) button`);
    const shown = await counts();
    const sorted = [...shown].sort((a, b) => b - a);
    check(shown.join() === sorted.join(), `counts fall: ${shown.join()}`);
  },

  async 'a timechart is drawn'(page) {
    await run(page, `${query} | timechart count by host`);
    await page.waitForSelector(`${id('chart')} canvas`);
    await screenshot(page, '07-timechart');
    await page.click('label:has-text("Column")');
    await page.waitForSelector(`${id('visualization')}[data-kind="column"] canvas`);
    await page.click(id('tab-statistics'));
    await page.waitForSelector(id('statistics-table'));
  },

  async 'dragging over the timeline narrows the time range'(page) {
    await run(page, query);
    await page.waitForSelector(id('timeline-plot'));
    const box = await page.locator(id('timeline-plot')).boundingBox();
    const y = box.y + box.height / 2;
    await page.mouse.move(box.x + box.width * 0.4, y);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.999, y, { steps: 5 });
    await screenshot(page, '08-brush');
    await page.mouse.up();
    await page.waitForFunction(() => {
      const earliest = new URL(location.href).searchParams.get('earliest');
      return earliest !== '0' && /^\d/.test(earliest);
    });
    await finished(page);
    const narrow = Number(new URL(page.url()).searchParams.get('earliest'));
    await page.click(id('zoom-out'));
    await page.waitForFunction(
      (before) => Number(new URL(location.href).searchParams.get('earliest')) < before,
      narrow,
    );
    await finished(page);
  },

  async 'a mistake is shown where it is'(page) {
    await page.fill(id('search-input'), `${query} | stat count`);
    await page.press(id('search-input'), 'Enter');
    await page.waitForSelector(`${id('job')}[data-phase="failed"]`);
    const alert = await page.textContent('[role="alert"]');
    check(alert.includes('stat'), 'the message names the mistake');
    await screenshot(page, '09-mistake');
  },

  async 'the time range picker offers presets and forms'(page) {
    await page.click(id('time-range'));
    await page.waitForSelector(id('time-range-panel'));
    await screenshot(page, '10-time-range');
    await page.keyboard.press('Escape');
  },

  async 'the address alone leads back to the search'(page) {
    await page.goto(addressOf(`${query} | stats count`));
    await finished(page);
    await page.waitForSelector(id('statistics-table'));
  },

  async 'the job inspector says where the time went and what was read'(page) {
    await run(page, `${query} | stats count by host`);
    await page.click(id('tab-inspector'));
    await page.waitForSelector(`${id('inspector')} tbody tr`);
    const text = await page.textContent(id('inspector'));
    for (const part of ['Phases', 'plan', 'Object storage', 'Buckets', 'BucketScanExec']) {
      check(text.includes(part), `the inspector shows ${part}`);
    }
    await screenshot(page, '13-inspector');
    await page.click(id('tab-statistics'));
  },

  async 'dark colours hold'(page) {
    await page.click('[aria-label="Dark colours"]');
    await run(page, query);
    await page.waitForSelector(id('event'));
    await screenshot(page, '11-dark');
  },

  async 'the cluster page says that there is no cluster, and back leads to the search'(page) {
    await page.click('nav a[href="/cluster"]');
    await page.getByText('belongs to no cluster').waitFor();
    await screenshot(page, '12-no-cluster');
    await page.goBack();
    await finished(page);
  },

  async 'an expired session leads to the login form and back'(page) {
    await page.evaluate(() => {
      sessionStorage.setItem(
        'karst.session',
        JSON.stringify({ username: 'x', sessionKey: 'expired' }),
      );
    });
    await page.reload();
    await page.waitForSelector('input[name="username"]');
    await screenshot(page, '12-expired');
    await page.fill('input[name="username"]', user);
    await page.fill('input[name="password"]', password);
    await page.click('button[type="submit"]');
    await finished(page);
  },
};

const browser = await openBrowser();
let failed = null;
const { page, problems } = await openPage(browser);
for (const [name, step] of Object.entries(steps)) {
  try {
    await step(page);
    console.log(`ok    ${name}`);
  } catch (error) {
    failed = error;
    console.error(`FAIL  ${name}\n${error.message}`);
    await screenshot(page, 'failed');
    break;
  }
}
await browser.close();
if (problems.length > 0) console.error(`the page reported:\n${problems.join('\n')}`);
process.exit(failed || problems.length > 0 ? 1 : 0);

/**
 * Walks through the page as a person would and checks what it shows.
 *
 *   KARST_URL=http://localhost:8000 KARST_USER=admin KARST_PASSWORD=... npm run e2e
 *
 * KARST_E2E_QUERY chooses the events (default `index=*`); at least one must match over all time.
 */

import { check, screenshot, signIn, walk } from './browser.mjs';

const url = process.env.KARST_URL ?? 'http://localhost:8000';
const user = process.env.KARST_USER ?? 'admin';
const password = process.env.KARST_PASSWORD ?? 'changeme';
const query = process.env.KARST_E2E_QUERY ?? 'index=*';

const id = (name) => `[data-testid="${name}"]`;
const addressOf = (search) =>
  `${url}/app/search/search?${new URLSearchParams({ q: search, earliest: '0', latest: '' })}`;
const typed = (page) => page.locator(id('search-input')).innerText();

async function finished(page) {
  await page.waitForSelector(`${id('job')}[data-phase="done"]`);
}

async function type(page, search) {
  await page.click(id('search-input'));
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.insertText(search);
  await reads(page, search);
}

/** Waits until the search field has a text. */
async function reads(page, search) {
  await page.waitForFunction(
    ([selector, text]) => document.querySelector(selector)?.innerText === text,
    [id('search-input'), search],
  );
}

async function run(page, search) {
  await type(page, search);
  await page.keyboard.press('Enter');
  await finished(page);
}

/** Sends an event to the index of the query. */
async function arrive(page, text) {
  const index = /index=(\w+)/.exec(query)?.[1] ?? 'main';
  const answer = await page.evaluate(
    async ([at, body]) => {
      const key = /splunkweb_csrf_token_\d+=([^;]*)/.exec(document.cookie)?.[1] ?? '';
      const sent = { method: 'POST', body, headers: { 'X-Splunk-Form-Key': key } };
      return (await fetch(at, sent)).status;
    },
    [`/services/receivers/simple?index=${index}&sourcetype=live`, text],
  );
  check(answer === 200, `the event is taken: ${answer}`);
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

  async 'the right one leads to the home page, which knows the sources'(page) {
    await page.fill('input[name="password"]', password);
    await page.click('button[type="submit"]');
    await page.waitForSelector(id('home'));
    await page.waitForSelector(id('server'));
    check((await page.textContent(id('user-menu'))).includes(user), 'the header names the user');
    await page
      .locator(`${id('home-health')} a[href*="sourcetype"]`)
      .first()
      .waitFor();
    check((await page.locator(id('first-steps')).count()) === 0, 'there are events');
    await screenshot(page, '02-home');
  },

  async 'a search from there runs, and the page lists it afterwards'(page) {
    await page.keyboard.press('/');
    await page.waitForFunction(() => document.activeElement?.dataset.testid === 'home-search');
    await page.keyboard.type(`${query} | head 3`);
    await page.keyboard.press('Enter');
    await finished(page);
    await page.click('header a[title="Home"]');
    await page.locator(`${id('home-searches')} a`, { hasText: `${query} | head 3` }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('s');
    await page.waitForSelector(id('empty'));
  },

  async 'a search shows events, timeline and fields'(page) {
    await page.goto(addressOf(query));
    await finished(page);
    await page.waitForSelector(id('event'));
    await page.waitForSelector(id('timeline'));
    await page.waitForSelector(`${id('fields')} ${id('field-host')}:not([disabled])`);
    check((await page.locator(id('event')).count()) <= 50, 'only events in sight are drawn');
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
    const search = await typed(page);
    check(search.includes('host="'), 'the search holds the value');
    check(new URL(page.url()).searchParams.get('q') === search, 'the address holds the search');
    await page.waitForSelector(id('event'));
    await page.goBack();
    await page.waitForFunction(
      ([selector, before]) => document.querySelector(selector).innerText === before,
      [id('search-input'), query],
    );
    await finished(page);
  },

  async 'a key formats the search, and the names of fields are completed'(page) {
    const search = `${query}|stats count by host`;
    await type(page, search);
    await page.keyboard.press('ControlOrMeta+\\');
    const lines = `${query}\n| stats count by host`;
    // The formatter is loaded when it is first used.
    await reads(page, lines);
    await page.keyboard.press('ControlOrMeta+Z');
    check((await typed(page)) === search, 'which is undone in one step');
    await page.click(id('format-search'));
    await reads(page, lines);
    await page.keyboard.type(', sourcet');
    await page.locator('.cm-tooltip-autocomplete li', { hasText: 'sourcetype' }).first().click();
    check((await typed(page)) === `${lines}, sourcetype`, 'a click takes the field');
    await run(page, query);
  },

  async 'a field opens to its top values'(page) {
    await page.click(id('field-sourcetype'));
    await page.waitForSelector(`${id('field-panel')} tbody tr`);
    await screenshot(page, '05-field-values');
  },

  async 'a field with numbers has their statistics'(page) {
    await page.keyboard.press('Escape');
    await page.click(id('field-status'));
    await page.click(id('field-numbers'));
    await page.waitForSelector(id('numbers'));
    check(/minimum.*200/.test(await page.textContent(id('numbers'))), 'the minimum');
    await page.keyboard.press('Escape');
  },

  async 'patterns group the events by their texts'(page) {
    await page.click(id('tab-patterns'));
    await page.waitForSelector(id('pattern'));
    check(
      new URL(page.url()).searchParams.get('display.page.search.tab') === 'patterns',
      'address',
    );
    check((await page.locator(id('pattern')).count()) < 20, 'few patterns of many events');
    await screenshot(page, '05-patterns');
  },

  async 'two ranges are compared by the values that differ'(page) {
    const range = { earliest: '-20m', latest: 'now', 'display.page.search.tab': 'compare' };
    await page.goto(`${url}/app/search/search?${new URLSearchParams({ q: query, ...range })}`);
    await page.waitForFunction(
      (selector) =>
        /events now, .*before/.test(document.querySelector(selector)?.textContent ?? ''),
      id('compare'),
    );
    await screenshot(page, '05-compare');
  },

  async 'a live tail shows events as they arrive, and stands still on demand'(page) {
    const asked = new URLSearchParams({ q: query, earliest: '-15m', latest: 'now', live: '1' });
    await page.goto(`${url}/app/search/search?${asked}`);
    await page.getByText('Waiting for events that match').waitFor();
    await arrive(page, 'live one');
    await page.locator(`${id('live')} ${id('event')}:has-text("live one")`).waitFor();
    await page.hover(id('live-rows'));
    await arrive(page, 'live two');
    await page.click(id('live-new'));
    await page.locator(`${id('live')} ${id('event')}:has-text("live two")`).waitFor();
    check((await page.locator(`${id('live')} ${id('event')}`).count()) === 2, 'each of them once');
    await screenshot(page, '05-live');
    await page.click('button:has-text("End the live tail")');
    await finished(page);
    check(page.url().includes('earliest=-15m'), `the range stays: ${page.url()}`);
    await page.goto(
      `${url}/app/search/search?${new URLSearchParams({ q: '| delete', live: '1' })}`,
    );
    await page.getByText('requires a search without commands').waitFor();
  },

  async 'a quick report makes a table'(page) {
    await page.goto(addressOf(query));
    await finished(page);
    await page.click(id('field-sourcetype'));
    await page.waitForSelector(`${id('field-panel')} tbody tr`);
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

  async 'the menu of a cell is reached by the keyboard'(page) {
    await page.focus(id('statistics-table'));
    await page.keyboard.press('Control+Home');
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.waitForSelector(id('cell-menu'));
    await page.keyboard.press('Escape');
    await page.waitForSelector(id('cell-menu'), { state: 'detached' });
    await page.waitForSelector(`${id('statistics-table')}:focus [aria-colindex="2"][data-active]`);
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

  async 'keys select on the timeline and narrow the time range'(page) {
    await run(page, query);
    await page.focus(id('timeline-plot'));
    await page.keyboard.press('End');
    await page.keyboard.press('Shift+ArrowLeft');
    await page.keyboard.press('Enter');
    await page.waitForFunction(() => {
      const earliest = new URL(location.href).searchParams.get('earliest');
      return earliest !== '0' && /^\d/.test(earliest);
    });
    await finished(page);
    await page.goBack();
    await finished(page);
  },

  async 'the last event is reached by scrolling, and only those in sight are drawn'(page) {
    await page.goto(addressOf(query));
    await finished(page);
    await page.waitForSelector(id('event'));
    const total = Number(await page.locator(id('event')).first().getAttribute('aria-setsize'));
    await page.evaluate(async (last) => {
      const main = document.getElementById('main');
      const isThere = () => document.querySelector(`[aria-posinset="${last}"]`) !== null;
      // Heights are known when events are drawn, so the end moves until it is reached.
      for (let tries = 0; tries < 200 && !isThere(); tries += 1) {
        main.scrollTo(0, main.scrollHeight);
        await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
      }
    }, total);
    await page.waitForSelector(`[aria-posinset="${total}"]`);
    check((await page.locator(id('event')).count()) < 60, 'a window of events is drawn');
  },

  async 'an event opens beside the events around it, also where times are not in UTC'(page) {
    const key = `karst.zone.${user}`;
    await page.evaluate((name) => localStorage.setItem(name, '"Asia/Kolkata"'), key);
    await page.goto(addressOf(query));
    await finished(page);
    await page
      .locator(`${id('event')} [aria-expanded]`)
      .first()
      .click();
    await page.click(id('event-details'));
    const isOpen = () => page.waitForSelector(`${id('surrounding')} [aria-current]`);
    const isClosed = () => page.waitForSelector(id('event-panel'), { state: 'detached' });
    await isOpen();
    check(new URL(page.url()).searchParams.get('event')?.startsWith('0_'), 'the address has it');
    await page.goBack();
    await isClosed();
    check(new URL(page.url()).searchParams.get('q') === query, 'the search stays');
    await page.goForward();
    await isOpen();
    await page.reload();
    await isOpen();
    await page.keyboard.press('Escape');
    await isClosed();
    await page.evaluate((name) => localStorage.removeItem(name), key);
  },

  async 'the estimate of a search is there before it runs, and is compared with what was read'(
    page,
  ) {
    const chip = page.locator(id('estimate'));
    await page.goto(`${url}/app/search/search`);
    await page.waitForSelector(id('search-input'));
    await type(page, `${query} | stats count`);
    await page.waitForSelector(`${id('estimate')}[data-compared="false"]:not([data-stale])`);
    check(/^At most [\d.]+ \w+/.test(await chip.textContent()), await chip.textContent());
    await chip.click();
    check((await page.textContent(id('estimate-panel'))).includes('Buckets to read'), 'buckets');
    await page.keyboard.press('Escape');
    await type(page, '| makeresults');
    await chip.waitFor({ state: 'detached' });
    await run(page, `${query} | stats count BY host`);
    await page.waitForSelector(`${id('estimate')}[data-compared="true"]`);
    await page.click(id('cost'));
    await page.locator('section[aria-label="Estimate before the run"] tbody tr').first().waitFor();
    await page.goBack();
    await finished(page);
  },

  async 'a mistake is shown where it is'(page) {
    await type(page, `${query} | stat count`);
    await page.keyboard.press('Enter');
    await page.waitForSelector(`${id('job')}[data-phase="failed"]`);
    const alert = await page.textContent('[role="alert"]');
    check(alert.includes('stat'), 'the message names the mistake');
    await page.waitForSelector('.cm-lintRange-error');
    check((await page.textContent('.cm-lintRange-error')) === 'stat', 'the mistake is marked');
    await screenshot(page, '09-mistake');
  },

  async 'the time range picker offers presets and forms'(page) {
    await page.click(id('time-range'));
    await page.waitForSelector(id('time-range-panel'));
    await screenshot(page, '10-time-range');
    await page.keyboard.press('Escape');
  },

  async 'completion takes what is typed to a command'(page) {
    await type(page, `${query} | stat`);
    await page.keyboard.type('s');
    await page.waitForSelector('.cm-tooltip-autocomplete');
    await page.keyboard.press('Tab');
    check((await typed(page)).endsWith('| stats'), `completed to ${await typed(page)}`);
  },

  async 'a link that writes asks before it runs'(page) {
    await page.goto(addressOf(`${query} | head 1 | outputlookup e2e_console.csv`));
    await page.waitForSelector(id('held'));
    check((await page.locator(id('job')).count()) === 0, 'nothing runs');
    await screenshot(page, '14-held');
    await page.click(id('run-held'));
    await finished(page);
    await page.reload();
    await finished(page);
    check((await page.locator(id('held')).count()) === 0, 'the kept job is shown again');
  },

  async 'a new tab is signed in and shows the same job'(page) {
    await page.goto(addressOf(`${query} | stats count`));
    await finished(page);
    await page.waitForFunction(() => new URL(location.href).searchParams.has('sid'));
    const address = page.url();
    const other = await page.context().newPage();
    await other.goto(address);
    await finished(other);
    check(other.url() === address, 'the address stays');
    await other.close();
  },

  async 'a search becomes a report, opens from the list and is deleted'(page) {
    await page.click(id('save'));
    await page.click(id('save-report'));
    await page.fill('input[name="name"]', 'E2E / report 1');
    await page.keyboard.press('Enter');
    await page.waitForSelector(id('report-form'), { state: 'detached' });
    await page.click('nav a[href="/app/search/reports"]');
    await page.click('a:has-text("E2E / report 1")');
    await finished(page);
    check((await typed(page)) === `${query} | stats count`, 'the report is searched');
    await page.goBack();
    await page.click('[aria-label="More for E2E / report 1"]');
    await page.click('[role="menuitem"]:has-text("Clone")');
    const form = page.locator(id('object-form'));
    const description = form.locator('[name="description"]');
    await description.fill('not saved');
    const ask = page.locator(id('leave'));
    const cancel = form.getByRole('button', { name: 'Cancel', exact: true });
    for (const leave of [() => page.keyboard.press('Escape'), () => cancel.click()]) {
      await leave();
      await ask.getByRole('button', { name: 'Cancel', exact: true }).click();
      await ask.waitFor({ state: 'detached' });
      check((await description.inputValue()) === 'not saved', 'the copy stays');
    }
    await cancel.click();
    await ask.getByRole('button', { name: 'Leave without saving' }).click();
    await form.waitFor({ state: 'detached' });
    await page.click('[aria-label="More for E2E / report 1"]');
    await page.click('[role="menuitem"]:has-text("Delete")');
    await page.click('[role="dialog"] button:has-text("Delete")');
    await page.waitForSelector('a:has-text("E2E / report 1")', { state: 'detached' });
  },

  async 'the palette leads to a page by keys alone'(page) {
    await page.keyboard.press('Control+k');
    await page.waitForSelector('[role="listbox"]');
    await page.keyboard.type('jobs');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/jobs');
    await page.waitForSelector(id('job-row'));
    check((await page.title()) === 'Jobs · Karst', 'the title is of the page');
    await page.keyboard.press('Control+k');
    await page.waitForSelector('[role="listbox"]');
    await page.keyboard.type('macros');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/settings/macros');
    await page.goBack();
    await page.waitForSelector(id('job-row'));
  },

  async 'a job leads back to its results'(page) {
    await page
      .locator(`${id('job-row')} a`)
      .first()
      .click();
    await finished(page);
    check(new URL(page.url()).searchParams.has('sid'), 'the address has the job');
  },

  async 'an unknown address says what there is'(page) {
    await page.goto(`${url}/settings/nothing`);
    await page.waitForSelector(id('not-found'));
    await page.click(`${id('not-found')} a:has-text("Search")`);
    await page.waitForSelector(id('empty'));
  },

  async 'an address of before leads on'(page) {
    await page.goto(`${url}/?${new URLSearchParams({ q: query, earliest: '0', latest: '' })}`);
    await finished(page);
    check(new URL(page.url()).pathname === '/app/search/search', 'the new address');
    await page.goto(`${url}/en-US/app/search/search`);
    await page.waitForSelector(id('empty'));
  },

  async 'the address alone leads back to the search'(page) {
    await page.goto(addressOf(`${query} | stats count`));
    await finished(page);
    await page.waitForSelector(id('statistics-table'));
  },

  async 'the job inspector says where the time went and what was read'(page) {
    await run(page, `${query} | stats count by host`);
    await page.click(id('cost'));
    await page.waitForURL('**/inspect');
    await page.waitForSelector(`${id('inspector')} tbody tr`);
    const text = await page.textContent(id('inspector'));
    for (const part of [
      'It ran',
      'Phases',
      'plan',
      'Object storage',
      'Buckets',
      'BucketScanExec',
    ]) {
      check(text.includes(part), `the inspector shows ${part}`);
    }
    await screenshot(page, '13-inspector');
    await page.goBack();
    await finished(page);
    await page.waitForSelector(id('statistics-table'));
  },

  async 'dark colours hold'(page) {
    await page.click('[aria-label="Dark colours"]');
    await run(page, query);
    await page.waitForSelector(id('event'));
    await screenshot(page, '11-dark');
  },

  async 'the cluster page says that there is no cluster, and back leads to the search'(page) {
    await page.click('#areas a:has-text("Monitor")');
    await page.click('nav[aria-label="Monitor"] a:has-text("Cluster")');
    await page.getByText('does not belong to a cluster').waitFor();
    await screenshot(page, '12-no-cluster');
    await page.goBack();
    await page.waitForSelector(id('server-now'));
    await page.goBack();
    await finished(page);
  },

  async 'at 320 pixels nothing scrolls sideways and the areas open'(page) {
    await page.setViewportSize({ width: 320, height: 640 });
    const sideways = () =>
      page.evaluate(() => {
        const main = document.getElementById('main');
        return Math.max(
          document.documentElement.scrollWidth - innerWidth,
          main.scrollWidth - main.clientWidth,
        );
      });
    await page.goto(addressOf(query));
    await finished(page);
    await page.waitForSelector(id('event'));
    check((await sideways()) === 0, 'the search fits');
    await page.click('header [aria-label="Areas"]');
    await page.click('nav a[href="/jobs"]');
    await page.waitForSelector(id('job-row'));
    check((await sideways()) === 0, 'the jobs fit');
    await screenshot(page, '15-narrow');
    await page.goBack();
    await finished(page);
    await page.setViewportSize({ width: 1440, height: 900 });
  },

  async 'an expired session leads to the login form and back'(page) {
    const cookies = await page.context().cookies();
    const stale = cookies.filter((cookie) => cookie.name.startsWith('splunkd_'));
    check(stale.length === 1 && stale[0].httpOnly, 'no script reads the session');
    await page.context().addCookies([{ ...stale[0], value: 'expired' }]);
    await page.reload();
    await page.waitForSelector('input[name="username"]');
    await screenshot(page, '12-expired');
    await signIn(page);
    await finished(page);
  },

  async 'a session that has ended meanwhile leads to a login over the page, which goes on after it'(
    page,
  ) {
    const login = '[role="dialog"] input[name="username"]';
    const main = await page.$('#main');
    // The answer to a request that is under way may bring the cookie back, renewed.
    for (let tries = 0; tries < 5 && !(await page.isVisible(login)); tries += 1) {
      await page.context().clearCookies();
      await page.click(id('run'));
      await page.waitForSelector(login, { timeout: 5_000 }).catch(() => {});
    }
    await page.waitForSelector(login);
    await screenshot(page, '14-login-dialog');
    await signIn(page);
    await page.waitForSelector(login, { state: 'detached' });
    await finished(page);
    check(await main.evaluate((one) => one.isConnected), 'the page is the same');
  },
};

await walk('console', steps);

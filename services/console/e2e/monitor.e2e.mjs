/**
 * Looks at the pages of performance and cost. The server needs own events in `_internal`
 * (tests/clients/test_console.py).
 *
 *   KARST_URL=http://localhost:8000 KARST_USER=admin KARST_PASSWORD=... node e2e/monitor.e2e.mjs
 */

import { check, screenshot, signIn, walk } from './browser.mjs';

const url = process.env.KARST_URL ?? 'http://localhost:8000';

const id = (name) => `[data-testid="${name}"]`;
const panel = (page, title) => page.locator(`section[aria-label="${title}"]`);

/** Every search of the page has ended; those out of sight, too. */
async function finished(page) {
  await page.setViewportSize({ width: 1440, height: 7_000 });
  await page.waitForSelector(`${id('progress')}[data-done="true"]`, {
    state: 'attached',
    timeout: 90_000,
  });
}

/** No search failed: each panel has rows, or says why it has none. */
async function eachIsWhole(page) {
  const failed = await page.locator('[data-state="failed"]').allTextContents();
  check(failed.length === 0, `no search fails: ${failed.join('\n')}`);
  for (const empty of await page.locator('[data-state="empty"]').all()) {
    check((await empty.locator('p').count()) > 1, `a reason: ${await empty.textContent()}`);
  }
}

const steps = {
  async 'an operator logs in and the area leads to performance'(page) {
    await page.goto(`${url}/monitor`);
    await signIn(page);
    await page.waitForSelector(id('server-now'));
    check(new URL(page.url()).pathname === '/monitor/performance', 'the first page');
  },

  async 'the state of the server is shown without a search'(page) {
    await page
      .locator(`${id('server-now')} dd`)
      .first()
      .waitFor();
    const text = await page.textContent(id('server-now'));
    for (const figure of ['Health', 'Fullest queue', 'Uploads waiting', 'Intake', 'Cache hits']) {
      check(text.includes(figure), figure);
    }
  },

  async 'every panel of performance has rows or says why not'(page) {
    await finished(page);
    await eachIsWhole(page);
    await panel(page, 'Queue fill, %').locator('canvas').waitFor();
    await page.setViewportSize({ width: 1180, height: 900 });
    const units = page.locator(`${id('single')} [class*="unit"]`);
    const lines = await units.evaluateAll((all) => all.map((one) => one.getClientRects().length));
    check(lines.length > 3 && lines.every((count) => count === 1), `units are whole: ${lines}`);
    await page.setViewportSize({ width: 1440, height: 900 });
    await screenshot(page, 'monitor-performance');
  },

  async 'an input is in the address, and changes the searches'(page) {
    await page
      .locator(`${id('input-series')} input`)
      .first()
      .click();
    await page.locator('[role="option"]:has-text("source type")').click();
    await page.waitForFunction(() => location.search.includes('per_sourcetype_thruput'));
    await panel(page, 'Ingest, KB').locator('canvas').waitFor();
    await panel(page, 'Ingest, KB').getByText('Show as table').click();
    await panel(page, 'Ingest, KB').locator('th:has-text("access_combined")').waitFor();
  },

  async 'a panel opens in the search page'(page) {
    const [opened] = await Promise.all([
      page.context().waitForEvent('page'),
      (async () => {
        await page.click('[aria-label="Actions of Fullest queue"]');
        await page.click('[role="menuitem"]:has-text("Open in search")');
      })(),
    ]);
    await opened.waitForSelector(`${id('job')}[data-phase="done"]`);
    const search = new URL(opened.url()).searchParams.get('q');
    check(search.includes('group=queue'), search);
    await opened.close();
  },

  async 'the cost page counts with examples until there are prices'(page) {
    await page.click('nav[aria-label="Monitor"] a:has-text("Cost")');
    await page.getByText('Prices are examples').waitFor();
    await finished(page);
    await eachIsWhole(page);
    const spent = await panel(page, 'Spent this month').textContent();
    check(/\$\s*\d/.test(spent), spent);
    const cache = panel(page, 'Cache what-if: requests and $ a month by size of the cache');
    await cache.locator('canvas').waitFor();
    await cache.getByText('Show as table').click();
    for (const size of ['64 MB', '128 MB', '256 MB']) {
      await cache.locator(`td:has-text("${size}")`).waitFor();
    }
    await page.setViewportSize({ width: 1440, height: 900 });
    await screenshot(page, 'monitor-cost');
  },

  async 'prices are edited, refused where they are none, and count at once'(page) {
    const before = await panel(page, 'Ingest alone, per GB').locator(id('single')).textContent();
    await page.click('button:has-text("Prices")');
    await page.fill(`${id('prices-form')} [name="cpu_hour"]`, 'dear');
    await page.getByText('a number, 0 or more').waitFor();
    await page.fill(`${id('prices-form')} [name="cpu_hour"]`, '480');
    await page.click(`${id('prices-form')} [type="submit"]`);
    await page.waitForSelector(id('prices-form'), { state: 'detached' });
    await page.getByText('Prices are examples').waitFor({ state: 'detached' });
    await finished(page);
    await page.waitForFunction(
      ([selector, text]) => {
        const now = document.querySelector(selector)?.textContent ?? '';
        return now !== '' && now !== text;
      },
      [`section[aria-label="Ingest alone, per GB"] ${id('single')}`, before],
    );
  },

  async 'a tariff that is not typed is waited for'(page) {
    const tariff = panel(page, 'The tariff of another product, a year');
    await tariff.locator('[data-state="waiting"]').waitFor();
    await page.locator(`${id('input-tariff')} input`).fill('100');
    await page.keyboard.press('Enter');
    await tariff.locator(id('single')).waitFor();
  },
};

await walk('monitor', steps, {
  // What was made is removed, so that the page counts with examples again.
  end: (page) =>
    page.evaluate(async () => {
      const key = /splunkweb_csrf_token_\d+=([^;]*)/.exec(document.cookie)?.[1] ?? '';
      const path = '/servicesNS/nobody/search/data/lookup-table-files/karst_prices.csv';
      await fetch(path, { method: 'DELETE', headers: { 'X-Splunk-Form-Key': key } });
    }),
});

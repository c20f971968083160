/**
 * Takes the picture of the README (docs/console.png) from a server started with `make run`.
 *
 *   KARST_PASSWORD=... node e2e/dev/picture.mjs docs/console.png
 */

import { openBrowser, openPage } from '../browser.mjs';

const url = process.env.KARST_URL ?? 'http://localhost:8000';
const id = (name) => `[data-testid="${name}"]`;
const search = 'sourcetype=web_shop status>=500';

const browser = await openBrowser();
try {
  const { page } = await openPage(browser, { viewport: { width: 1280, height: 720 } });
  await page.goto(url);
  await page.fill('input[name="username"]', process.env.KARST_USER ?? 'admin');
  await page.fill('input[name="password"]', process.env.KARST_PASSWORD ?? '');
  await page.click('button[type="submit"]');
  await page.waitForSelector(id('empty'));
  await page.goto(
    `${url}/app/search/search?${new URLSearchParams({ q: search, earliest: '-24h', latest: 'now' })}`,
  );
  await page.waitForSelector(`${id('job')}[data-phase="done"]`);
  await page.waitForSelector(`${id('fields')} ${id('field-host')}:not([disabled])`);
  await page.screenshot({ path: process.argv[2] });
} finally {
  await browser.close();
}

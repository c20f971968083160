/**
 * Screenshots of states that pass quickly or are rare, taken against the fixture server:
 * a running search, completions, highlighted words, the JSON tree, the narrowest width.
 *
 *   KARST_URL=http://127.0.0.1:8123 node e2e/dev/look.mjs
 */

import { openBrowser, openPage, screenshot } from '../browser.mjs';

const url = process.env.KARST_URL ?? 'http://localhost:8000';
const id = (name) => `[data-testid="${name}"]`;
const done = (page) => page.waitForSelector(`${id('job')}[data-phase="done"]`);

async function open(browser, options) {
  const { page } = await openPage(browser, options);
  await page.goto(url);
  await page.fill('input[name="username"]', 'admin');
  await page.fill('input[name="password"]', 'changeme');
  await page.click('button[type="submit"]');
  await page.waitForSelector(id('empty'));
  return page;
}

async function run(page, search) {
  await page.fill(id('search-input'), search);
  await page.press(id('search-input'), 'Escape');
  await page.press(id('search-input'), 'Enter');
}

const browser = await openBrowser();
const page = await open(browser);
await run(page, 'error warn level=WARN OR level=ERROR');
await page.waitForTimeout(350);
await screenshot(page, 'look-running');
await run(page, '"error" sourcetype="shop:order"');
await done(page);
await page.locator(id('json-toggle')).first().click();
await screenshot(page, 'look-json');
await page.fill(id('search-input'), 'error | st');
await page.type(id('search-input'), 'a');
await page.waitForSelector(id('completions'));
await screenshot(page, 'look-completion');
await run(page, '* | stats count by host');
await done(page);
await screenshot(page, 'look-multivalue');
await page.click(id('tab-visualization'));
await page.waitForSelector(`${id('chart')} canvas`);
await screenshot(page, 'look-column');
await page.click('label:has-text("Pie")');
await page.waitForTimeout(300);
await screenshot(page, 'look-pie');
await page.click('label:has-text("Bar")');
await page.waitForTimeout(300);
await screenshot(page, 'look-bar');
await run(page, '* | stats count');
await done(page);
await page.click(id('tab-visualization'));
await screenshot(page, 'look-single');
await run(page, 'nothing matches this');
await done(page);
await page.waitForSelector(id('no-events'));
await screenshot(page, 'look-none');

const narrow = await open(browser, { viewport: { width: 1024, height: 700 }, colorScheme: 'dark' });
await run(narrow, 'warn\n  status>=500\n  host=web-*');
await done(narrow);
await narrow.click(id('field-latency_ms'));
await narrow.waitForSelector(id('field-panel'));
await screenshot(narrow, 'look-narrow');
await narrow.keyboard.press('Escape');
await narrow.click(id('time-range'));
await screenshot(narrow, 'look-range-dark');
await narrow.keyboard.press('Escape');
await run(narrow, '* | timechart count by level');
await done(narrow);
await narrow.waitForSelector(`${id('chart')} canvas`);
await narrow.mouse.move(500, 400);
await screenshot(narrow, 'look-chart-dark');
await browser.close();

/**
 * Checks what the cluster page of a search head shows, and its pages about inputs.
 *
 *   KARST_URL=... KARST_USER=... KARST_PASSWORD=... KARST_E2E_PEERS=6 KARST_E2E_DOWN=1 node e2e/cluster.e2e.mjs
 */

import { check, openBrowser, openPage, screenshot, signIn } from './browser.mjs';

const { KARST_URL: url } = process.env;
const peers = Number(process.env.KARST_E2E_PEERS);
const down = Number(process.env.KARST_E2E_DOWN);

const browser = await openBrowser();
const { page, problems } = await openPage(browser);
let failed = null;
try {
  await page.goto(`${url}/cluster`);
  await signIn(page);
  const rows = page.locator('[data-testid="peers"] tbody tr');
  await rows.first().waitFor();
  // It looks again by itself.
  await page.waitForFunction(
    (wanted) => document.querySelectorAll('tr[data-status="Down"]').length === wanted,
    down,
  );
  check((await rows.count()) === peers, `there are ${await rows.count()} processes`);
  check((await page.getByText('leads', { exact: true }).count()) === 1, 'one of them leads');
  const all = await page.locator('#main').getByRole('status').first().textContent();
  check(all.includes(down === 0 ? 'all of them answer' : 'not answer'), all);
  check(
    (await page.locator('#areas [aria-current="page"]').textContent()) === 'Monitor',
    'the page',
  );
  check(new URL(page.url()).pathname === '/monitor/cluster', 'the address of before leads on');
  // A process writes of its load every few seconds; the page looks every 15 s.
  const loads = (least) =>
    page.waitForFunction(
      (wanted) =>
        [...document.querySelectorAll('[data-figure="Load"]')].filter((cell) =>
          /^[\d.]+ of \d+$/.test(cell.textContent),
        ).length >= wanted,
      least,
      { timeout: 60_000 },
    );
  await loads(peers - down);
  const uploads = await page.locator('[data-figure="To upload"]').allTextContents();
  check(uploads.filter((text) => /^\d+$/.test(text)).length >= peers - down, uploads.join());
  await screenshot(page, `cluster-${down}`);
  // A search head says at once that it receives no events, and who does.
  await page.goto(`${url}/data/add/paste`);
  const refusal = page.locator('[data-testid="takes-no-events"]');
  await refusal.getByText('indexer of the cluster: ').waitFor();
  check((await page.locator('[data-testid="load-form"]').count()) === 0, 'no text is asked for');
  await page.goto(`${url}/data/inputs`);
  await page.getByText('runs no inputs').waitFor();
} catch (error) {
  failed = error;
  console.error(error.message);
  await screenshot(page, 'cluster-failed');
}
await browser.close();
if (problems.length > 0) console.error(`the page reported:\n${problems.join('\n')}`);
process.exit(failed || problems.length > 0 ? 1 : 0);

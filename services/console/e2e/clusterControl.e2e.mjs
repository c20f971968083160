/**
 * Does with a cluster what its page offers. What is to be done is named, in this order:
 *
 *   KARST_URL=... KARST_USER=... KARST_PASSWORD=... node e2e/clusterControl.e2e.mjs restart cancel
 *   ... node e2e/clusterControl.e2e.mjs maintain
 *   ... node e2e/clusterControl.e2e.mjs blocked remove   KARST_E2E_ADDRESS: of the process that does not answer
 *   ... node e2e/clusterControl.e2e.mjs denied              with a user who may only look
 */

import { check, openBrowser, openPage, screenshot, signIn, violations } from './browser.mjs';

const { KARST_URL: url, KARST_USER: user } = process.env;
const address = process.env.KARST_E2E_ADDRESS ?? '';
const id = (testId) => `[data-testid="${testId}"]`;
/** Milliseconds in which a few processes have restarted. */
const RESTART = 180_000;

/** A picture, and what axe says, in light and dark. */
async function look(page, name) {
  for (const colorScheme of ['light', 'dark']) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    await page.evaluate(() => new Promise((drawn) => requestAnimationFrame(drawn)));
    await screenshot(page, `${name}-${colorScheme}`);
    const found = await violations(page);
    check(found.length === 0, `no violation in ${name}, ${colorScheme}:\n${found.join('\n')}`);
  }
}

async function plan(page) {
  await page.click(id('plan-restart'));
  await page.waitForSelector(id('restart-form'));
}

const steps = {
  /** The dry run shows the waves, the restart its progress to its end. */
  async restart(page) {
    await plan(page);
    await page.waitForSelector(`${id('restart-plan')} ol`);
    const indexers = await page.locator(`${id('restart-plan')} li`).count();
    check(indexers === 3, `each of three indexers is a wave: ${indexers}`);
    await page.getByLabel('Percentage that restarts at the same time').fill('70');
    const waves = page.locator(`${id('restart-plan')} li`);
    await page.getByText('at most 2 away at a time').waitFor();
    check((await waves.first().textContent()).split(', ').length === 2, 'two in the first wave');
    await look(page, 'cluster-plan');
    await page.getByLabel('Percentage that restarts at the same time').fill('500');
    await page.getByText('a whole number from 1 to 100').waitFor();
    await page.getByLabel('Percentage that restarts at the same time').fill('');
    await page.click(`${id('restart-form')} button[type="submit"]:has-text("3 processes")`);
    await page.waitForSelector(id('restart-progress'));
    check((await page.locator(id('plan-restart')).count()) === 0, 'one restart at a time');
    await page.locator(`${id('restart-progress')} [role="status"]:has-text("1 of 3")`).waitFor({
      timeout: RESTART,
    });
    await look(page, 'cluster-restart');
    await page
      .getByText('The last rolling restart has finished: 3 of 3')
      .waitFor({ timeout: RESTART });
  },

  async cancel(page) {
    await plan(page);
    await page.click(`${id('restart-form')} button[type="submit"]:has-text("3 processes")`);
    await page.click(`${id('restart-progress')} button:has-text("Cancel")`);
    await page
      .locator(id('restart-last'), { hasText: `cancelled by ${user}` })
      .waitFor({ timeout: RESTART });
    await look(page, 'cluster-cancelled');
  },

  /** Maintenance mode is turned on and off, each time after a dialog that says what this does. */
  async maintain(page) {
    const confirm = async (effect, action) => {
      await page.click(id('change-maintenance'));
      await page.locator(id('maintenance-effects'), { hasText: effect }).waitFor();
      await look(page, `cluster-maintenance-${action.slice(5)}`);
      await page.getByRole('button', { name: action, exact: true }).click();
      await page.waitForSelector(id('maintenance-form'), { state: 'detached' });
    };
    await confirm('is not replaced', 'Turn on');
    await page.locator(id('maintenance'), { hasText: 'in maintenance mode' }).waitFor();
    await look(page, 'cluster-maintenance');
    await confirm('are replaced', 'Turn off');
    await page.waitForSelector(id('maintenance'), { state: 'detached' });
  },

  /** What does not answer blocks a restart; by force it starts, and the plan says that it waits. */
  async blocked(page) {
    await page.locator(`tr[data-status="Down"]:has-text("${address}")`).waitFor();
    await plan(page);
    await page.locator(id('restart-blocked'), { hasText: 'does not respond' }).waitFor();
    const start = page.locator(`${id('restart-form')} button[type="submit"]`);
    check(await start.isDisabled(), 'what is blocked does not start');
    await look(page, 'cluster-blocked');
    await page.getByLabel('Restart even if a process does not answer').check();
    await page.locator(id('restart-plan'), { hasText: 'It starts and then waits' }).waitFor();
    await page.click(`${id('restart-form')} button:has-text("Close")`);
  },

  async remove(page) {
    const row = page.locator(`tr[data-status="Down"]:has-text("${address}")`);
    await row.getByRole('button', { name: 'Remove' }).click();
    await page.locator(id('loss'), { hasText: 'ackLevel = local' }).waitFor();
    const remove = page.locator(`${id('remove-peer-form')} button[type="submit"]`);
    check(await remove.isDisabled(), 'the address is asked for: all have one name here');
    await look(page, 'cluster-remove');
    await page.getByLabel(`Type ${address} to confirm`).fill(address);
    await remove.click();
    await row.waitFor({ state: 'detached' });
    await page.getByText('all of them answer').waitFor();
  },

  async denied(page) {
    await page.locator(id('no-control'), { hasText: 'edit_server' }).waitFor();
    check((await page.locator(id('plan-restart')).count()) === 0, 'no restart');
    check((await page.locator(id('change-maintenance')).count()) === 0, 'no maintenance mode');
    check((await page.locator('button:has-text("Remove")').count()) === 0, 'no removal');
    await look(page, 'cluster-denied');
  },
};

const browser = await openBrowser();
const { page, problems } = await openPage(browser, { bypassCSP: true });
let failed = null;
try {
  await page.goto(`${url}/monitor/cluster`);
  await signIn(page);
  await page
    .locator(`${id('peers')} tbody tr`)
    .first()
    .waitFor();
  for (const step of process.argv.slice(2)) {
    const begin = Date.now();
    await steps[step](page);
    console.log(`ok    ${step} (${Date.now() - begin} ms)`);
  }
} catch (error) {
  failed = error;
  console.error(error.message);
  await screenshot(page, 'cluster-control-failed');
}
await browser.close();
if (problems.length > 0) console.error(`the page reported:\n${problems.join('\n')}`);
process.exit(failed || problems.length > 0 ? 1 : 0);

/** The installed Chromium, a page in it, and checks that say what was expected. */

import { readFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const SCREENSHOTS =
  process.env.KARST_SCREENSHOTS ?? fileURLToPath(new URL('./screenshots', import.meta.url));

/** Factor by which pages run slower, to find steps that depend on being in time. */
const SLOWDOWN = Number(process.env.KARST_SLOWDOWN ?? 1);

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

export async function openBrowser() {
  await mkdir(SCREENSHOTS, { recursive: true });
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-dev-shm-usage',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

export async function openPage(browser, options = {}) {
  const context = await browser.newContext({
    viewport: { width: 1440, height: 900 },
    ignoreHTTPSErrors: true,
    timezoneId: 'UTC',
    reducedMotion: 'reduce',
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  if (SLOWDOWN > 1) {
    const session = await context.newCDPSession(page);
    await session.send('Emulation.setCPUThrottlingRate', { rate: SLOWDOWN });
  }
  const problems = [];
  page.on('pageerror', (error) => problems.push(error.message));
  page.on('console', (message) => {
    // Refused requests are part of what is tested; the browser logs each of them.
    if (message.type() === 'error' && !message.text().startsWith('Failed to load resource')) {
      problems.push(message.text());
    }
  });
  return { page, problems };
}

export const screenshot = (page, name) => page.screenshot({ path: `${SCREENSHOTS}/${name}.png` });

export function check(condition, expectation) {
  if (!condition) throw new Error(`expected: ${expectation}`);
}

/** Fills the login form that is shown. */
export async function signIn(page) {
  await page.fill('input[name="username"]', process.env.KARST_USER ?? 'admin');
  await page.fill('input[name="password"]', process.env.KARST_PASSWORD ?? 'changeme');
  await page.click('form[aria-label="Sign in"] button[type="submit"]');
}

/** The sanitizer parses hostile HTML in a document that runs nothing; the browser reports the policy there, too. */
const INERT = /^Executing inline event handler violates/;

/**
 * Takes steps in one page, in their order, and ends the program: 0 if all succeed and the page reports no error.
 * `name`: of the pictures of failures. `begin`, `end`: before the first step and after the last one.
 * `goesOn`: later steps do not need the earlier ones.
 */
export async function walk(name, steps, { begin, end, goesOn = false } = {}) {
  const browser = await openBrowser();
  const { page, problems } = await openPage(browser);
  await begin?.(page);
  let isFailed = false;
  for (const [at, [what, step]] of Object.entries(steps).entries()) {
    const since = Date.now();
    try {
      await step(page);
      console.log(`ok    ${what} (${Date.now() - since} ms)`);
    } catch (error) {
      isFailed = true;
      console.error(`FAIL  ${what}\n${error.message}`);
      await screenshot(page, `${name}-failed-${at}`);
      if (!goesOn) break;
    }
  }
  await end?.(page);
  await browser.close();
  const told = problems.filter((problem) => !INERT.test(problem));
  if (told.length > 0) console.error(`the page reported:\n${told.join('\n')}`);
  process.exit(isFailed || told.length > 0 ? 1 : 0);
}

/** Rules of axe whose outcome depends on the colours, and on where things are. */
export const BY_COLOR = ['color-contrast', 'link-in-text-block'];
export const BY_LAYOUT = ['target-size', 'scrollable-region-focusable'];

/** What axe finds, one line each; by some rules only, or all. */
export async function violations(page, rules = TAGS) {
  // Once for a page: it takes as long as some of the rules. What is evaluated is exempt from the page's policy.
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE);
  const found = await page.evaluate(
    (runOnly) => globalThis.axe.run(document, { runOnly, resultTypes: ['violations'] }),
    rules,
  );
  return found.violations.flatMap((violation) =>
    violation.nodes.map(
      (node) => `${violation.id}: ${node.target.join(' ')} ${node.any[0]?.message ?? ''}`,
    ),
  );
}

export async function accessible(page, name) {
  const found = await violations(page);
  check(found.length === 0, `${name} has no violation:\n${found.join('\n')}`);
}

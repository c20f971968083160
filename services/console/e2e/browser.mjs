/** The installed Chromium, a page in it, and checks that say what was expected. */

import { mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { chromium } from 'playwright-core';

const SCREENSHOTS =
  process.env.KARST_SCREENSHOTS ?? fileURLToPath(new URL('./screenshots', import.meta.url));

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');
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

/**
 * What axe finds, one line each. The page needs `bypassCSP`: axe is added as a script, which the policy
 * forbids.
 */
export async function violations(page) {
  await page.addScriptTag({ path: AXE });
  const found = await page.evaluate(
    (tags) => globalThis.axe.run(document, { runOnly: tags, resultTypes: ['violations'] }),
    TAGS,
  );
  return found.violations.flatMap((violation) =>
    violation.nodes.map(
      (node) => `${violation.id}: ${node.target.join(' ')} ${node.any[0]?.message ?? ''}`,
    ),
  );
}

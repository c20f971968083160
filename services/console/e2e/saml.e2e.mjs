/** Signs in at a SAML provider (tests/clients/saml_provider.mjs) and out again. KARST_URL: the console. */

import { check, openBrowser, openPage, screenshot } from './browser.mjs';

const url = process.env.KARST_URL;
const id = (name) => `[data-testid="${name}"]`;

const browser = await openBrowser();
try {
  const { page, problems } = await openPage(browser);
  await page.goto(url);
  await page.click('a[href="/saml/login"]');
  await page.fill('input[name="login"]', 'ann');
  await page.fill('input[name="password"]', 'any');
  await page.click('button');
  // The provider's page submits the response by itself elsewhere; here a person does.
  await page.click('button');
  await page.waitForSelector(id('home'));
  check((await page.textContent(id('user-menu'))).includes('ann'), 'the header names the user');
  await screenshot(page, 'saml-signed-in');

  await page.reload();
  await page.waitForSelector(id('home'));

  await page.click(id('user-menu'));
  await page.click('[role="menuitem"]:has-text("Sign out")');
  await page.waitForSelector('text=Signed out at the provider.');
  await page.goto(url);
  await page.waitForSelector('input[name="username"]');
  const cookies = await page.context().cookies();
  check(!cookies.some((one) => one.name === 'karst_saml_state'), 'the state ends with the login');
  check(problems.length === 0, `no errors in the page: ${problems.join('; ')}`);
} finally {
  await browser.close();
}

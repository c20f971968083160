/**
 * Walks through data and settings as an administrator would: adds data, makes and removes objects.
 *
 *   KARST_URL=http://localhost:8000 KARST_USER=admin KARST_PASSWORD=... node e2e/administration.e2e.mjs
 *
 * KARST_HEC_URL is the address of the collector. It removes what it has made.
 */

import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { check, screenshot, signIn, walk } from './browser.mjs';

const url = process.env.KARST_URL ?? 'http://localhost:8000';
const hec = process.env.KARST_HEC_URL ?? 'http://localhost:8088';
const user = process.env.KARST_USER ?? 'admin';

const HOSTILE = '<img src=x onerror="window.hostile=1">';
const id = (name) => `[data-testid="${name}"]`;
const row = (page, name) => page.locator(id('object-row'), { hasText: name });
const saved = (page) => page.waitForSelector(id('object-form'), { state: 'detached' });
const field = (page, name) => page.locator(`${id('object-form')} [name="${name}"]`);

async function make(page, path, values, done = saved) {
  await page.goto(`${url}${path}`);
  await page.click(id('new-object'));
  for (const [name, value] of Object.entries(values)) await field(page, name).fill(value);
  await page.click(`${id('object-form')} button[type="submit"]`);
  await done(page);
}

/** Removes an object by its menu; gives what the question says is lost. */
async function remove(page, path, name, isTyped = false) {
  await page.goto(`${url}${path}`);
  await row(page, name).first().waitFor();
  await page.click(`[aria-label="More for ${name}"]`);
  await page.click('[role="menuitem"]:has-text("Delete")');
  const loss = await page.textContent(id('loss'));
  const button = page.locator(`${id('remove-form')} button[type="submit"]`);
  if (isTyped) {
    check(await button.isDisabled(), 'the name has to be typed');
    await page.fill(`${id('remove-form')} input`, name);
  }
  await button.click();
  await page.waitForSelector(id('remove-form'), { state: 'detached' });
  await row(page, name).first().waitFor({ state: 'detached' });
  return loss;
}

const steps = {
  async 'an administrator logs in'(page) {
    await page.goto(`${url}/data`);
    await signIn(page);
    await page.waitForSelector(id('objects'));
    check(new URL(page.url()).pathname === '/data/indexes', 'the area leads to its first page');
  },

  async 'an index is made with a retention in days'(page) {
    await make(page, '/data/indexes', { name: 'e2e_shop', frozenTimePeriodInSecs: '30' });
    await row(page, 'e2e_shop').waitFor();
    check((await row(page, 'e2e_shop').textContent()).includes('30 days'), 'thirty days');
    await page.click('a:has-text("e2e_shop")');
    check((await field(page, 'frozenTimePeriodInSecs').inputValue()) === '30', 'the form has it');
    check(new URL(page.url()).pathname === '/data/indexes/e2e_shop', 'the address has the index');
    const other = await page.context().newPage();
    await other.goto(`${url}/data/indexes/e2e_shop`);
    await field(other, 'frozenTimePeriodInSecs').fill('60');
    await other.click(`${id('object-form')} button[type="submit"]`);
    await saved(other);
    await other.close();
    await field(page, 'frozenTimePeriodInSecs').fill('9');
    await page.click(`${id('object-form')} button[type="submit"]`);
    await page.getByText('was changed since you opened it: Retention in days').waitFor();
    await page.click('button:has-text("Load the new version")');
    check((await field(page, 'frozenTimePeriodInSecs').inputValue()) === '60', 'the new version');
    await field(page, 'frozenTimePeriodInSecs').fill('7');
    await page.click(`${id('object-form')} button[type="submit"]`);
    await saved(page);
    await page.waitForFunction(() => document.body.textContent.includes('7 days'));
    await screenshot(page, 'data-indexes');
  },

  async 'Escape and Back ask before the values of a form are lost'(page) {
    await page.goto(`${url}/data/indexes`);
    await page.click(id('new-object'));
    await field(page, 'name').fill('e2e_lost');
    const ask = page.locator(id('leave'));
    for (const go of [() => page.keyboard.press('Escape'), () => page.goBack()]) {
      await go();
      await ask.getByRole('button', { name: 'Cancel', exact: true }).click();
      await ask.waitFor({ state: 'detached' });
      check((await field(page, 'name').inputValue()) === 'e2e_lost', 'the value stays');
    }
    await page.keyboard.press('Escape');
    await ask.getByRole('button', { name: 'Leave without saving' }).click();
    await saved(page);
  },

  async 'a name that is taken is refused with the reason'(page) {
    await page.goto(`${url}/data/indexes/_new`);
    await field(page, 'name').fill('Not Valid');
    await page.click(`${id('object-form')} button[type="submit"]`);
    await page.getByText('lower-case letters, digits, _ and - only').waitFor();
    await field(page, 'name').fill('e2e_shop');
    await page.click(`${id('object-form')} button[type="submit"]`);
    await page.getByText('n index with name=e2e_shop already exists').waitFor();
    check((await field(page, 'name').getAttribute('aria-invalid')) === 'true', 'it is at the name');
  },

  async 'a pasted text is loaded, and the first events are shown as text'(page) {
    await page.goto(`${url}/data/add/paste`);
    await page.getByLabel('Index', { exact: true }).selectOption('e2e_shop');
    await page.fill(
      'textarea',
      `2026-11-26 10:00:00 user=a ${HOSTILE}\n2026-11-26 10:00:01 user=b`,
    );
    const preview = await page.textContent(id('preview'));
    check(preview.includes(HOSTILE), 'the preview shows the text as text');
    check((await page.locator(`${id('preview-event')} mark`).count()) === 2, 'two timestamps');
    await page.click(`${id('load-form')} button[type="submit"]`);
    await page.waitForSelector(`${id('load-report')} tbody tr`);
    const text = await page.textContent(id('load-report'));
    check(text.includes('2 events') && text.includes(HOSTILE), text);
    const load = page.locator(`${id('load-form')} button[type="submit"]`);
    check(await load.isDisabled(), 'the same text is not loaded twice');
    check((await page.evaluate(() => window.hostile)) === undefined, 'nothing of it runs');
    await screenshot(page, 'data-paste');
  },

  async 'events that are older than the retention are warned of before and after the load'(page) {
    await page.goto(`${url}/data/add/paste`);
    await page.getByLabel('Index', { exact: true }).selectOption('e2e_shop');
    await page.fill('textarea', '2015-05-17 10:05:03 GET /old 200');
    const before = await page.textContent(id('retention'));
    check(before.includes('All events are older than the retention of the index e2e_shop'), before);
    await page.click(`${id('load-form')} button[type="submit"]`);
    const after = await page.textContent(id('load-report'));
    check(after.includes('(7 days, frozenTimePeriodInSecs)'), after);
    check(after.includes('What is removed by then has to be loaded again'), after);
    await page.waitForSelector(id('retention'), { state: 'detached' });
  },

  async 'settings are tried on a text, and saved as a source type that counts at once'(page) {
    const events = page.locator(id('preview-event'));
    const setting = (name) => page.locator(`${id('props-form')} [name="props.${name}"]`);
    const load = page.locator(`${id('load-form')} button[type="submit"]`);
    const number = (count) =>
      page.waitForFunction(
        ([name, wanted]) =>
          document.querySelectorAll(`${name}`).length === wanted &&
          !document.querySelector('[data-testid="preview"][data-stale]'),
        [id('preview-event'), count],
      );
    await page.goto(`${url}/data/add/upload`);
    await page.setInputFiles('input[type="file"]', {
      name: 'e2e_records.log',
      mimeType: 'text/plain',
      buffer: Buffer.from('at=26.11.2026 10:00:00 n=1;at=26.11.2026 10:00:01 n=2;rest'),
    });
    await page.getByLabel('Index', { exact: true }).selectOption('e2e_shop');
    await number(1);
    await setting('LINE_BREAKER').fill('(');
    await page.locator(`${id('props-form')} :text("bad regular expression")`).waitFor();
    check((await events.count()) === 1, 'the last preview stays');
    await setting('LINE_BREAKER').fill('(;)');
    await setting('SHOULD_LINEMERGE').selectOption('false');
    await number(3);
    await setting('TIME_PREFIX').fill('at=');
    await setting('TIME_FORMAT').fill('%d.%m.%Y %H:%M:%S');
    await page.locator(`${id('preview-notes')}:has-text("1 event without a timestamp")`).waitFor();
    check((await events.locator('mark').first().textContent()) === '26.11.2026 10:00:00', 'marked');
    check(await load.isDisabled(), 'what is only tried is not loaded');
    await screenshot(page, 'data-preview');
    await page.click(id('save-as'));
    await page.fill(`${id('save-source-type')} input`, 'e2e:records');
    await page.click(`${id('save-source-type')} button[type="submit"]`);
    await page.waitForSelector(id('save-source-type'), { state: 'detached' });
    await number(3);
    await load.click();
    await page
      .locator(`${id('load-report')}:has-text("3 events of the source type e2e:records")`)
      .waitFor();
    await remove(page, '/settings/apps', 'sourcetype_e2e_records', true);
  },

  async 'a token is made, and its commands deliver the first event'(page) {
    await make(page, '/data/tokens', { name: 'e2e_token' }, () => page.waitForSelector(id('made')));
    const token = await page.textContent(id('secret'));
    check(/^[0-9a-f-]{36}$/.test(token), `a secret: ${token}`);
    await page.click(`${id('made')} button:has-text("Done")`);
    await page.goto(`${url}/data/add/hec`);
    await page.getByLabel('Token', { exact: true }).selectOption('e2e_token');
    await page.getByLabel('Index', { exact: true }).selectOption('e2e_shop');
    const { host } = new URL(hec);
    // The server listens at it: nothing is guessed, and nothing has to be typed.
    await page.getByLabel('Address').fill(host);
    await page.getByText('Waiting for the first event in e2e_shop').waitFor();
    const command = await page
      .locator(`${id('recipes')} pre`)
      .first()
      .textContent();
    check(command.includes(token) && command.includes(hec), command);
    execFileSync('sh', ['-c', command]);
    await page.waitForSelector(`${id('first-event')}[data-found="true"]`);
    check((await page.textContent(id('first-event'))).includes('hello from curl'), 'the event');
    await screenshot(page, 'data-hec');
  },

  async 'a port is opened and closed'(page) {
    const port = `127.0.0.1:${20_000 + Math.floor(Math.random() * 10_000)}`;
    await page.goto(`${url}/data/inputs/_new`);
    await field(page, 'kind').selectOption('udp');
    await field(page, 'name').fill(port);
    await page.click(`${id('object-form')} [type="submit"]`);
    await saved(page);
    await page.waitForSelector(id('first-event'));
    await page.goto(`${url}/data/inputs`);
    await row(page, port).waitFor();
    await remove(page, '/data/inputs', port);
  },

  async 'a role and a user are made'(page) {
    await page.goto(`${url}/settings/roles/_new`);
    await field(page, 'name').fill('e2e_reader');
    await page.getByLabel('search', { exact: true }).check();
    await field(page, 'srchIndexesAllowed').fill('e2e_shop');
    await page.click(`${id('object-form')} [type="submit"]`);
    await saved(page);
    await page.goto(`${url}/settings/users/_new`);
    await page.click(`${id('object-form')} [type="submit"]`);
    await page.getByText('User name is missing').waitFor();
    await field(page, 'name').fill('e2e_eve');
    await field(page, 'password').fill('changeme-12');
    await field(page, 'tz').fill('Nowhere');
    await page.getByLabel('e2e_reader', { exact: true }).check();
    await page.click(`${id('object-form')} [type="submit"]`);
    await page.getByText('Unknown time zone "Nowhere"').waitFor();
    await page.waitForSelector('[name="tz"][aria-invalid="true"]:focus');
    await field(page, 'tz').fill('Europe/Berlin');
    await page.click(`${id('object-form')} [type="submit"]`);
    await saved(page);
    await row(page, 'e2e_eve').waitFor();
    await screenshot(page, 'settings-users');
  },

  async 'days of searches are those of the zone of the account, not of the browser'(page) {
    const browser = page.context().browser();
    const context = await browser.newContext({ ignoreHTTPSErrors: true, timezoneId: 'UTC' });
    const other = await context.newPage();
    const refused = [];
    other.on('response', (answer) => answer.status() === 403 && refused.push(answer.url()));
    const search = '| makeresults | eval zone=strftime(relative_time(now(), "@d"), "%H %Z")';
    const q = encodeURIComponent(`${search} | table zone`);
    await other.goto(`${url}/app/search/search?q=${q}&earliest=-1h&latest=now`);
    await other.fill('input[name="username"]', 'e2e_eve');
    await other.fill('input[name="password"]', 'changeme-12');
    await other.click('form[aria-label="Sign in"] button[type="submit"]');
    const cell = other.locator(`${id('statistics-table')} tbody td`, { hasText: /^00 CES?T$/ });
    await cell.first().waitFor();
    // The user may not see settings: the page does not ask for the price of requests.
    await other.goto(`${url}/app/search/search?q=index%3De2e_shop&earliest=0&latest=now`);
    await other.waitForSelector(id('estimate'));
    check(!refused.some((address) => address.includes('settings')), refused.join(' '));
    await context.close();
  },

  async 'a macro of a user is shared, found by the filter, and removed'(page) {
    await make(page, '/settings/macros', {
      name: 'e2e_errors',
      definition: `status>=500 ${HOSTILE}`,
    });
    await page.fill('[aria-label="Filter macros"]', 'e2e_err');
    check((await page.locator(id('object-row')).count()) === 1, 'the filter leaves one');
    await page.click('[aria-label="More for e2e_errors"]');
    await page.click('[role="menuitem"]:has-text("Permissions")');
    await page.getByLabel('Users of all apps').check();
    await page.click(`${id('share-form')} [type="submit"]`);
    await page.waitForSelector(id('share-form'), { state: 'detached' });
    await page.waitForFunction(() => document.body.textContent.includes('all apps'));
    check((await page.evaluate(() => window.hostile)) === undefined, 'nothing of it runs');
    const loss = await remove(page, '/settings/macros', 'e2e_errors');
    check(loss.includes('fail'), loss);
  },

  async 'a calculated field is made, seen in a search, changed, cloned and removed'(page) {
    const path = '/settings/calculated-fields';
    const name = 'source::... : EVAL-e2e_mark';
    const cell = async (text) => {
      const q = 'index=e2e_shop "hello from curl" | stats count by e2e_mark';
      await page.goto(
        `${url}/app/search/search?${new URLSearchParams({ q, earliest: '0', latest: '' })}`,
      );
      await page
        .locator(`${id('statistics-table')} tbody td`, { hasText: text })
        .first()
        .waitFor();
    };
    await page.goto(`${url}${path}/_new`);
    await field(page, 'stanza').fill('source::...');
    await field(page, 'name').fill('e2e_mark');
    await field(page, 'value').fill('upper("one"');
    await page.click(`${id('object-form')} [type="submit"]`);
    await page.waitForSelector('[name="value"][aria-invalid="true"]:focus');
    await field(page, 'value').fill('upper("one")');
    await page.click(`${id('object-form')} [type="submit"]`);
    await saved(page);
    await row(page, name).waitFor();
    await cell(/^ONE$/);
    await page.goto(`${url}${path}/${encodeURIComponent(name)}`);
    await field(page, 'value').fill('upper("two")');
    await page.click(`${id('object-form')} [type="submit"]`);
    await saved(page);
    await cell(/^TWO$/);
    await page.goto(`${url}${path}`);
    await row(page, name).waitFor();
    await page.click(`[aria-label="More for ${name}"]`);
    await page.click('[role="menuitem"]:has-text("Clone")');
    check((await field(page, 'name').inputValue()) === 'e2e_mark', 'the form has the field');
    await field(page, 'name').fill('e2e_copy');
    await page.click(`${id('object-form')} [type="submit"]`);
    await saved(page);
    await row(page, 'EVAL-e2e_copy').waitFor();
    await page.click(`[aria-label="More for ${name}"]`);
    await page.click('[role="menuitem"]:has-text("Permissions")');
    await page.getByText('all settings of the stanza [source::...]').waitFor();
    await page.getByLabel('Users of the app search').check();
    await page.click(`${id('share-form')} [type="submit"]`);
    await page.waitForSelector(id('share-form'), { state: 'detached' });
    await row(page, 'EVAL-e2e_copy').filter({ hasText: ', app' }).waitFor();
    await page.click(`[aria-label="More for ${name}"]`);
    await page.click('[role="menuitem"]:has-text("Open in search")');
    await page.waitForURL((address) => address.href.includes('e2e_mark'));
    await page.waitForSelector(`${id('job')}[data-phase="done"]`);
    const loss = await remove(page, path, name);
    check(loss.includes('missing in searches'), loss);
    await remove(page, path, 'source::... : EVAL-e2e_copy');
  },

  async 'an automatic lookup is made of its parts, which the form checks'(page) {
    await page.goto(`${url}/settings/lookups`);
    await page.locator('input[type="file"]').setInputFiles({
      name: 'e2e_users.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from('user,team\na,red\n'),
    });
    await row(page, 'e2e_users.csv').waitFor();
    await page.goto(`${url}/settings/lookup-definitions/_new`);
    await field(page, 'name').fill('e2e_teams');
    await field(page, 'filename').selectOption('e2e_users.csv');
    await page.click(`${id('object-form')} [type="submit"]`);
    await saved(page);
    await page.goto(`${url}/settings/automatic-lookups/_new`);
    await field(page, 'stanza').fill('source::...');
    await field(page, 'name').fill('e2e_teams');
    await field(page, 'transform').selectOption('e2e_teams');
    await field(page, 'inputs').fill('user AS');
    await page.click(`${id('object-form')} [type="submit"]`);
    await page.getByText('AS stands between two names').waitFor();
    await field(page, 'inputs').fill('user');
    await field(page, 'outputs').fill('team');
    await page.click(`${id('object-form')} [type="submit"]`);
    await saved(page);
    const made = await row(page, 'LOOKUP-e2e_teams').textContent();
    check(made.includes('e2e_teams user OUTPUT team'), made);
    await remove(page, '/settings/automatic-lookups', 'source::... : LOOKUP-e2e_teams');
    await remove(page, '/settings/lookup-definitions', 'e2e_teams');
    await remove(page, '/settings/lookups', 'e2e_users.csv');
  },

  async 'what is built in is shown and not changed'(page) {
    await page.goto(`${url}/settings/macros`);
    await page.click('a:has-text("comment(1)")');
    await page.getByText('is built in').waitFor();
    check((await page.locator(`${id('object-form')} [type="submit"]`).count()) === 0, 'no save');
  },

  async 'a lookup file is uploaded and shown as a table'(page) {
    await page.goto(`${url}/settings/lookups`);
    await page.locator('input[type="file"]').setInputFiles({
      name: 'e2e_prices.csv',
      mimeType: 'text/csv',
      buffer: Buffer.from(`sku,about\na1,"x, ${HOSTILE.replaceAll('"', '""')}"\n`),
    });
    await page.click('a:has-text("e2e_prices.csv")');
    await page.waitForSelector(`${id('lookup-rows')} tbody tr`);
    check((await page.textContent(id('lookup-rows'))).includes(HOSTILE), 'the cell is a text');
    check((await page.evaluate(() => window.hostile)) === undefined, 'nothing of it runs');
    await page.goto(`${url}/settings/lookup-definitions/_new`);
    await field(page, 'name').fill('e2e_lookup');
    await field(page, 'filename').selectOption('e2e_prices.csv');
    await page.click(`${id('object-form')} button[type="submit"]`);
    await saved(page);
    check((await row(page, 'e2e_lookup').textContent()).includes('e2e_prices.csv'), 'its file');
    await remove(page, '/settings/lookup-definitions', 'e2e_lookup');
    await remove(page, '/settings/lookups', 'e2e_prices.csv');
  },

  async 'a packed app is installed, and its report names what is not used by line'(page) {
    const folder = mkdtempSync(join(tmpdir(), 'e2e-app-'));
    const packed = join(folder, 'e2e_gallery.tgz');
    const app = fileURLToPath(new URL('./dashboards-app', import.meta.url));
    execFileSync('tar', ['czf', packed, '-C', app, '--transform', 's,^\\.,e2e_gallery,', '.']);
    await page.goto(`${url}/settings/apps`);
    await page.click(id('upload-app'));
    await page.locator('[role="dialog"] input[type="file"]').setInputFiles(packed);
    await page.click('[role="dialog"] [type="submit"]');
    await page.waitForSelector(id('app-report'));
    const report = await page.textContent(id('app-report'));
    check(/hostile\.xml:\d+/.test(report), `a place with its line: ${report}`);
    await screenshot(page, 'settings-app-report');
    rmSync(folder, { recursive: true });
    const loss = await remove(page, '/settings/apps', 'e2e_gallery', true);
    check(loss.includes('dashboards'), loss);
  },

  async 'an API token is shown once'(page) {
    await make(page, '/settings/tokens', { name: user, audience: 'e2e' }, () =>
      page.waitForSelector(id('made')),
    );
    check((await page.textContent(id('secret'))).startsWith('eyJ'), 'the token');
    await page.click(`${id('made')} button:has-text("Done")`);
    const name = await row(page, 'e2e').first().locator('td').first().textContent();
    await page.click(`a:has-text("${name}")`);
    await page.waitForSelector(id('object-form'));
    check((await page.locator(id('secret')).count()) === 0, 'not again');
    await remove(page, '/settings/tokens', name);
  },

  async 'a setting says what it does and how it is changed, and is changed and reset'(page) {
    await page.goto(`${url}/settings/conf`);
    await page.click('a:has-text("limits.conf")');
    await page.waitForURL('**/settings/conf/limits');
    await page.waitForSelector(id('settings'));
    await page.fill('[aria-label="Filter settings"]', 'max_plan_');
    await page.waitForURL((address) => address.href.includes('filter=max_plan_'));
    await page.click('button:has-text("max_plan_depth")');
    const dialog = page.locator(id('setting'));
    await dialog.locator('input').fill('90');
    check((await dialog.locator('pre').textContent()).includes('max_plan_depth = 90'), 'the lines');
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    const limit = page.locator(id('setting-row'), { hasText: 'max_plan_time' });
    await page.click('button:has-text("max_plan_time")');
    await dialog.locator('input').fill('soon');
    await dialog.locator('button:has-text("Save")').click();
    await dialog.getByText('Expected: a whole number of seconds').waitFor();
    await dialog.locator('input').fill('90');
    await dialog.locator('button:has-text("Save")').click();
    await dialog.waitFor({ state: 'detached' });
    await limit.filter({ hasText: 'changed here' }).waitFor();
    await page.click('button:has-text("max_plan_time")');
    await dialog.locator('button:has-text("Reset")').click();
    await dialog.waitFor({ state: 'detached' });
    await limit.filter({ hasNotText: 'changed here' }).waitFor();
    await page.goto(`${url}/settings/conf/server`);
    await page.click('button:has-text("sessionTimeout")');
    await dialog.locator('input').fill('2h');
    await dialog.locator('button:has-text("Save")').click();
    await dialog.waitFor({ state: 'detached' });
    await page.waitForFunction(() => document.body.textContent.includes('changed here'));
    await page.getByLabel('Only changed').check();
    await page.locator(id('setting-row'), { hasText: 'sessionTimeout' }).waitFor();
    check((await page.locator(id('setting-row'), { hasText: 'serverName' }).count()) === 0, 'only');
    await screenshot(page, 'settings-conf');
  },

  async 'keys alone lead to the areas, open a row and close it'(page) {
    await page.goto(`${url}/app/search/reports`);
    await page.waitForSelector('h1');
    await page.keyboard.press('g');
    await page.keyboard.press('i');
    await page.waitForURL('**/data/indexes');
    await row(page, 'main').first().waitFor();
    await page.locator('a:has-text("main")').first().focus();
    await page.keyboard.press('Enter');
    await page.waitForSelector(id('object-form'));
    await page.keyboard.press('Escape');
    await saved(page);
    await page.keyboard.press('g');
    await page.keyboard.press('c');
    await page.waitForURL('**/settings/users');
  },

  async 'all of it is removed again, and the question says what is lost'(page) {
    await remove(page, '/settings/users', 'e2e_eve');
    await remove(page, '/settings/roles', 'e2e_reader');
    await remove(page, '/data/tokens', 'e2e_token');
    const loss = await remove(page, '/data/indexes', 'e2e_shop', true);
    // The event of 2015 goes once its hot bucket is stored.
    check(/7 events from 2015-05-17|6 events from 2026-11-26 10:00/.test(loss), loss);
  },
};

await walk('administration', steps);

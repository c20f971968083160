/**
 * Takes the pictures of docs/console from a server that was started empty, which it fills.
 *
 *   KARST_URL=... KARST_HEC_URL=... KARST_HEC_TOKEN=... KARST_USER=admin KARST_PASSWORD=... \
 *     node e2e/dev/pictures.mjs ../../docs/console [name ...]
 *
 * With names, it takes only those pictures, from a server that it has filled before. Look at each of them.
 */

import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { openBrowser, openPage, signIn } from '../browser.mjs';
import { change, DEPLOYMENT, withCluster, withDeployment } from '../states.mjs';
import { events, ownEvents, PASTED } from './pictureData.mjs';

const url = process.env.KARST_URL ?? 'http://localhost:8000';
const hec = process.env.KARST_HEC_URL ?? 'http://localhost:8088';
const [folder = '.', ...chosen] = process.argv.slice(2);

const id = (name) => `[data-testid="${name}"]`;
const searchOf = (q, more = {}) =>
  `${url}/app/search/search?${new URLSearchParams({ q, earliest: '-24h', latest: 'now', ...more })}`;
const done = (page) => page.waitForSelector(`${id('job')}[data-phase="done"]`);
const settled = (page) =>
  page.waitForSelector(`${id('progress')}[data-done="true"]`, {
    state: 'attached',
    timeout: 90_000,
  });

async function send(list) {
  for (let at = 0; at < list.length; at += 2_000) {
    const body = list.slice(at, at + 2_000).map((event) => JSON.stringify(event));
    const headers = { Authorization: `Splunk ${process.env.KARST_HEC_TOKEN}` };
    const sent = { method: 'POST', headers, body: body.join('') };
    const { status } = await fetch(`${hec}/services/collector/event`, sent);
    if (status !== 200) throw new Error(`the collector answers ${status}`);
  }
}

/** A request of the page's session. */
const post = (page, path, form) =>
  page.evaluate(
    async ([at, fields]) => {
      const key = /splunkweb_csrf_token_\d+=([^;]*)/.exec(document.cookie)?.[1] ?? '';
      const body = new URLSearchParams(fields);
      const sent = { method: 'POST', body, headers: { 'X-Splunk-Form-Key': key } };
      return (await fetch(at, sent)).status;
    },
    [path, form],
  );

/** The app of the tests, packed under the name `gallery`; some of its files are no sight. */
function packedApp(without = []) {
  const packed = join(mkdtempSync(join(tmpdir(), 'pictures-')), 'gallery.tgz');
  const app = fileURLToPath(new URL('../dashboards-app', import.meta.url));
  const excluded = without.map((name) => `--exclude=${name}`);
  execFileSync('tar', [
    'czf',
    packed,
    '-C',
    app,
    ...excluded,
    '--transform',
    's,^\\.,gallery,',
    '.',
  ]);
  return packed;
}

async function uploadApp(page, without = []) {
  await page.goto(`${url}/settings/apps`);
  await page.click(id('upload-app'));
  await page.locator('[role="dialog"] input[type="file"]').setInputFiles(packedApp(without));
  const replace = page.locator('[role="dialog"]').getByLabel(/replace/i);
  if ((await replace.count()) > 0) await replace.check();
  await page.click('[role="dialog"] [type="submit"]');
  await page.waitForSelector(id('app-report'));
}

async function fill(page) {
  await post(page, '/services/data/indexes', { name: 'gallery' });
  await uploadApp(page, ['hostile.xml']);
  await send(events());
  await send(ownEvents());
  // Most of what is searched is in object storage, as in a server that has run for a while.
  await post(page, '/services/data/indexes/gallery/roll-hot-buckets', {});
  for (const q of ['index=gallery status>=500', 'index=gallery | stats count by host']) {
    await page.goto(url);
    await page.fill(id('home-search'), q);
    await page.keyboard.press('Enter');
    await done(page);
  }
  await page.goto(`${url}/app/gallery/overview`);
  await settled(page);
}

/** Name: width, height, and the way to what is shown. */
const PICTURES = {
  home: [
    1180,
    640,
    async (page) => {
      await page.goto(url);
      await page
        .locator(`${id('home-health')} a[href*="sourcetype"]`)
        .first()
        .waitFor();
    },
  ],
  search: [
    1180,
    720,
    async (page) => {
      await page.goto(searchOf('index=gallery status>=400'));
      await done(page);
      await page.click(`${id('fields')} ${id('field-path')}:not([disabled])`);
      await page.waitForSelector(`${id('field-panel')} tbody tr`);
    },
  ],
  estimate: [
    1100,
    640,
    async (page) => {
      await page.goto(`${url}/app/search/search`);
      await page.click(id('search-input'));
      await page.keyboard.insertText('index=gallery status=500 | timechart count by host');
      await page.click(`${id('estimate')}:not([data-stale])`);
      await page.waitForSelector(id('estimate-panel'));
    },
  ],
  compare: [
    1180,
    640,
    async (page) => {
      const more = { earliest: '-6h', 'display.page.search.tab': 'compare' };
      await page.goto(searchOf('index=gallery', more));
      await page.getByText(/events now, .*before/).waitFor();
    },
  ],
  dark: [
    1180,
    640,
    async (page) => {
      await page.emulateMedia({ colorScheme: 'dark', reducedMotion: 'reduce' });
      await page.goto(searchOf('index=gallery | timechart span=1h count by status'));
      await page.waitForSelector(`${id('chart')} canvas`);
      await done(page);
    },
  ],
  phone: [
    390,
    780,
    async (page) => {
      await page.goto(searchOf('index=gallery status=500'));
      await done(page);
      await page.waitForSelector(id('event'));
    },
  ],
  inspector: [
    1180,
    720,
    async (page) => {
      await page.goto(searchOf('index=gallery path=/c* | stats count by host, path'));
      await done(page);
      await page.click(id('cost'));
      await page.waitForSelector(id('conclusion'));
    },
  ],
  performance: [
    1280,
    820,
    async (page) => {
      await page.goto(`${url}/monitor/performance`);
      await settled(page);
    },
  ],
  cost: [
    1180,
    820,
    async (page) => {
      await page.goto(`${url}/monitor/cost`);
      await settled(page);
    },
  ],
  cluster: [
    1440,
    480,
    async (page) => {
      await withCluster(page);
      await page.goto(`${url}/monitor/cluster`);
      await page.locator('[data-figure="Load"]:has-text("of")').first().waitFor();
    },
  ],
  preview: [
    1180,
    720,
    async (page) => {
      await page.goto(`${url}/data/add/paste`);
      await page.fill('textarea', PASTED);
      await page.waitForSelector(id('preview-event'));
      await page.fill('[name="props.LINE_BREAKER"]', '([\\r\\n]+)\\[');
      await page.selectOption('[name="props.SHOULD_LINEMERGE"]', 'false');
      await page.waitForFunction(
        (events) =>
          document.querySelectorAll(events).length === 4 &&
          !document.querySelector('[data-testid="preview"][data-stale]'),
        id('preview-event'),
      );
      await page.locator('section[aria-label="Preview of the events"]').scrollIntoViewIfNeeded();
      await page.evaluate(() => document.getElementById('main').scrollTo(0, 420));
    },
  ],
  'add-data': [
    1180,
    640,
    async (page) => {
      await page.goto(`${url}/data/add/hec`);
      await page.getByText('Waiting for the first event in main').waitFor();
      await send([{ event: 'hello from curl', index: 'main' }]);
      await page.waitForSelector(`${id('first-event')}[data-found="true"]`);
    },
  ],
  deployment: [
    1240,
    620,
    async (page) => {
      const now = Date.now() / 1_000;
      const [web] = Object.values(DEPLOYMENT.clients);
      const nginx = { ...web.applications.nginx, result: 'Ok', failedReason: undefined };
      const other = { ...web, clientName: 'web-8', hostname: 'web8', ip: '10.1.0.8' };
      Object.assign(DEPLOYMENT.clients, { b2: { ...other, applications: { nginx } } });
      for (const client of Object.values(DEPLOYMENT.clients)) client.lastPhoneHomeTime = now - 38;
      await withDeployment(page, {
        config: { ...DEPLOYMENT.config.config, loadTime: now - 3_600 },
      });
      await page.goto(`${url}/data/deployment`);
      await page.click('button:has-text("web-7")');
      await page.waitForSelector(id('forwarder-apps'));
    },
  ],
  configuration: [
    1180,
    640,
    async (page) => {
      // Not where the files of this machine are.
      await change(page, '**/api/v1/settings*', (json) =>
        JSON.parse(JSON.stringify(json).replaceAll(/"\/[^"]*\/etc\/system/g, '"/etc/karst/system')),
      );
      await page.goto(`${url}/settings/conf?changed=1`);
      await page.waitForSelector(id('settings'));
    },
  ],
  editor: [
    1280,
    760,
    async (page) => {
      await page.goto(`${url}/app/gallery/charts/edit`);
      await page.getByRole('button', { name: 'Stacked area', exact: true }).click();
      await page.locator(id('panel-search')).waitFor();
      await page.waitForSelector(`${id('plot')} canvas`);
    },
  ],
  custom: [
    1180,
    720,
    async (page) => {
      await page.goto(`${url}/app/gallery/custom`);
      await settled(page);
      await page.waitForSelector('[data-kind="sankey"] canvas');
    },
  ],
  maps: [
    1180,
    600,
    async (page) => {
      await page.goto(`${url}/app/gallery/maps`);
      await settled(page);
      await page.locator('#regions').evaluate((map) => map.scrollIntoView({ block: 'start' }));
      await page.waitForSelector('#regions canvas');
    },
  ],
  // The last one: it installs all files of the app.
  'app-report': [1180, 640, (page) => uploadApp(page)],
};

const browser = await openBrowser();
const { page } = await openPage(browser, { viewport: { width: 1280, height: 800 } });
await page.goto(url);
await signIn(page);
await page.waitForSelector(id('user-menu'));
if (chosen.length === 0) await fill(page);
for (const [name, [width, height, go]] of Object.entries(PICTURES)) {
  if (chosen.length > 0 && !chosen.includes(name)) continue;
  await page.unrouteAll({ behavior: 'ignoreErrors' });
  await page.emulateMedia({ colorScheme: 'light', reducedMotion: 'reduce' });
  await page.setViewportSize({ width, height });
  try {
    await go(page);
    await page.mouse.move(0, 0);
    // Charts and menus are drawn, and nothing loads any more.
    await page.waitForLoadState('networkidle', { timeout: 10_000 }).catch(() => {});
    await page.evaluate(() => document.fonts.ready);
    await page.screenshot({ path: resolve(folder, `${name}.png`) });
    console.log(name);
  } catch (error) {
    console.error(`FAIL ${name}: ${error.message}`);
    process.exitCode = 1;
    await page.screenshot({ path: join(tmpdir(), `failed-${name}.png`) });
  }
}
await browser.close();

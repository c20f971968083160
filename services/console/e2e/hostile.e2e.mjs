/**
 * Events, fields, dashboards and results that were made to harm: nothing of them runs, and the page goes on
 * to answer keys. Prints how long each answer takes; fails only where the page hangs.
 *
 *   KARST_URL=... KARST_USER=... KARST_PASSWORD=... KARST_HEC_URL=... KARST_HEC_TOKEN=... \
 *     KARST_E2E_QUERY=index=hostile node e2e/hostile.e2e.mjs
 *
 * The index of the query must exist; the events are sent by this script.
 */

import { check, screenshot, signIn, walk } from './browser.mjs';

const { KARST_URL: url, KARST_HEC_URL: hec, KARST_HEC_TOKEN: token } = process.env;
const index = /index=(\w+)/.exec(process.env.KARST_E2E_QUERY ?? '')?.[1] ?? 'main';
const id = (name) => `[data-testid="${name}"]`;
/** Milliseconds after which a page hangs. */
const HANG = 10_000;
/** Bytes of the long line. */
const LONG = 19_000_000;

const SCRIPTS = [
  '<script>window.hacked=1</script>',
  '<img src=x onerror="window.hacked=1">',
  '"><svg onload=window.hacked=1>',
  "';window.hacked=1;//",
  'javascript:window.hacked=1',
  '{{constructor.constructor("window.hacked=1")()}}',
];
const ARABIC = 'تسجيل الدخول فشل للمستخدم';
/** A right-to-left override turns what follows around, and is not closed. */
const RTL = `user=\u202Ereversed ${ARABIC} \u2067open host=web-01`;

async function send(events) {
  const body = events.map((event) => JSON.stringify({ index, ...event })).join('\n');
  const answer = await fetch(`${hec}/services/collector/event`, {
    method: 'POST',
    headers: { Authorization: `Splunk ${token}` },
    body,
  });
  check(answer.ok, `events are taken: ${answer.status} ${await answer.text()}`);
}

async function sendAll() {
  await send([
    ...SCRIPTS.map((script) => ({
      event: `login failed ${script} user=${script}`,
      host: script,
      source: script,
      sourcetype: 'scripts',
    })),
    {
      event: {
        ...Object.fromEntries(SCRIPTS.map((script, at) => [script, `${script}${at}`])),
        constructor: 'c',
        toString: 't',
        hasOwnProperty: 'h',
        nested: { [SCRIPTS[1]]: SCRIPTS },
      },
      sourcetype: 'names',
    },
    { event: RTL, sourcetype: 'rtl' },
    {
      event: Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`field_${at}`, at])),
      sourcetype: 'wide',
    },
  ]);
  await send([{ event: `begin ${'lorem=ipsum '.repeat(LONG / 12)}end`, sourcetype: 'long' }]);
}

const addressOf = (q, more = {}) =>
  `${url}/app/search/search?${new URLSearchParams({ q, earliest: '0', latest: '', ...more })}`;
const done = (page) => page.waitForSelector(`${id('job')}[data-phase="done"]`, { timeout: 60_000 });

/**
 * How long a key takes from its press until the page is painted, and the longest task since the last look.
 */
async function answers(page, what, selector = id('search-input')) {
  await page.locator(selector).first().focus({ timeout: HANG });
  await page.evaluate(() => {
    window.answered = new Promise((tell) => {
      const hear = (event) =>
        requestAnimationFrame(() => setTimeout(() => tell(performance.now() - event.timeStamp)));
      addEventListener('keydown', hear, { once: true, capture: true });
    });
  });
  await page.keyboard.press('Shift');
  const late = new Promise((_, fail) =>
    setTimeout(() => fail(new Error(`${what}: no answer within ${HANG} ms`)), HANG),
  );
  const taken = await Promise.race([page.evaluate(() => window.answered), late]);
  const longest = await page.evaluate(() => {
    const tasks = window.longTasks ?? [];
    window.longTasks = [];
    return Math.max(0, ...tasks);
  });
  console.log(
    `      ${what}: a key is answered after ${taken.toFixed(0)} ms; longest task ${longest.toFixed(0)} ms`,
  );
}

/** Nothing of it has become a part of the page. */
async function harmless(page, what) {
  check((await page.evaluate(() => window.hacked)) === undefined, `${what}: no script ran`);
  for (const selector of [
    'img[src="x"]',
    'svg[onload]',
    '[onerror]',
    '#root script',
    'a[href^="javascript"]',
  ]) {
    check((await page.locator(selector).count()) === 0, `${what}: no ${selector}`);
  }
  const sideways = await page.evaluate(
    () => document.documentElement.scrollWidth - window.innerWidth,
  );
  check(sideways <= 0, `${what}: the page does not scroll sideways by ${sideways} px`);
}

const VIEW = `<form version="1.1" script="evil.js" stylesheet="https://example.org/evil.css">
  <label>${'&lt;img src=x onerror=window.hacked=1&gt;'}</label>
  <init><set token="t">&lt;img src=x onerror=window.hacked=1&gt;</set></init>
  <fieldset><input type="dropdown" token="a"><label>&lt;svg onload=window.hacked=1&gt;</label><choice value="&lt;script&gt;window.hacked=1&lt;/script&gt;">&lt;img src=x onerror=window.hacked=1&gt;</choice></input></fieldset>
  <row><panel><title>$t$</title>
    <chart><title>$t$</title><search><query>index=${index} sourcetype=scripts | stats count by host</query><earliest>0</earliest></search><option name="charting.chart">column</option></chart>
    <single><search><query>| makeresults | eval v="&lt;img src=x onerror=window.hacked=1&gt;" | table v</query></search><option name="underLabel">$t$</option><option name="trellis.enabled">1</option></single>
    <map><search><query>| makeresults | eval Country="&lt;img src=x onerror=window.hacked=1&gt;", n=3 | table Country n</query></search><option name="mapping.type">choropleth</option></map>
    <html>$t$ <script>window.hacked=1</script><a id="js" href="javascript:window.hacked=1">go</a><iframe src="javascript:window.hacked=1"></iframe><style>body { background: url(https://example.org/x) }</style></html>
  </panel></row>
</form>`;

const steps = {
  async 'scripts in events, hosts, sources and field names are text'(page) {
    await page.goto(addressOf(`index=${index} (sourcetype=scripts OR sourcetype=names)`));
    await done(page);
    await page.waitForSelector(id('event'));
    for (const at of [0, 1, 2]) {
      await page
        .locator(`${id('event')} [aria-expanded="false"]`)
        .nth(at)
        .click();
    }
    await page.waitForSelector(id('event-fields'));
    const host = page.locator(id('field-host'));
    await host.click();
    await page.waitForSelector(id('field-panel'));
    await harmless(page, 'events');
    await page.keyboard.press('Escape');
    await answers(page, 'events with scripts');
    await screenshot(page, 'hostile-events');
  },

  async 'they are text in tables, charts and their tooltips'(page) {
    await page.goto(addressOf(`index=${index} sourcetype=scripts | stats count by host source`));
    await done(page);
    await page.waitForSelector(`${id('statistics-table')} tbody tr`);
    await harmless(page, 'a table');
    await page.goto(addressOf(`index=${index} sourcetype=scripts | chart count by host`));
    await done(page);
    await page.goto(
      addressOf(`index=${index} sourcetype=scripts | chart count by host`, {
        'display.page.search.tab': 'visualizations',
      }),
    );
    await page.waitForSelector(`${id('chart')} canvas`);
    const box = await page.locator(`${id('chart')} canvas`).boundingBox();
    for (const share of [0.3, 0.5, 0.7]) {
      await page.mouse.move(box.x + box.width * share, box.y + box.height * 0.6);
      await page.waitForTimeout(100);
    }
    await harmless(page, 'a chart with a tooltip');
  },

  async 'right-to-left text keeps to its line'(page) {
    await page.goto(addressOf(`index=${index} sourcetype=rtl`));
    await done(page);
    await page.waitForSelector(id('event'));
    check(
      (await page.locator(id('event')).first().textContent()).includes(ARABIC),
      'the text is there',
    );
    for (const code of ['U+202E', 'U+2067']) {
      const signs = page.locator(`${id('event')} [data-code="${code}"]`);
      check((await signs.count()) > 0, `${code} is seen`);
    }
    await page
      .locator(`${id('event')} [aria-expanded]`)
      .first()
      .click();
    await page.waitForSelector(id('event-fields'));
    await harmless(page, 'right-to-left text');
    await answers(page, 'right-to-left text');
    await screenshot(page, 'hostile-rtl');
  },

  async 'an event with 5,000 fields opens'(page) {
    await page.goto(addressOf(`index=${index} sourcetype=wide`));
    await done(page);
    await page.waitForSelector(id('event'));
    await page.waitForSelector(id('field-field_0'));
    check((await page.locator(`${id('fields')} li`).count()) < 500, 'of the fields some are drawn');
    await answers(page, '5,000 fields, closed');
    await page
      .locator(`${id('event')} [aria-expanded]`)
      .first()
      .click();
    await page.waitForSelector(id('event-fields'));
    await answers(page, '5,000 fields, open');
    await harmless(page, '5,000 fields');
    await screenshot(page, 'hostile-wide');
  },

  async 'a line of 19 MB is shown cut, and opens'(page) {
    await page.goto(addressOf(`index=${index} sourcetype=long`));
    await done(page);
    await page.waitForSelector(id('event'), { timeout: 60_000 });
    const bytes = await page.evaluate(
      () => document.querySelector('[data-testid="event"]').textContent.length,
    );
    console.log(`      ${bytes} characters of the line are in the page`);
    await answers(page, '19 MB line, closed');
    await page
      .locator(`${id('event')} [aria-expanded]`)
      .first()
      .click();
    await page.waitForSelector(id('event-fields'));
    await answers(page, '19 MB line, open');
    await screenshot(page, 'hostile-long');
  },

  async 'a table of 200 columns scrolls'(page) {
    const columns = Array.from({ length: 200 }, (_, at) => `column_${at}=n*${at}`).join(', ');
    await page.goto(
      addressOf(`| makeresults count=1000 | streamstats count AS n | eval ${columns}`),
    );
    await done(page);
    await page.waitForSelector(`${id('statistics-table')} tbody tr`);
    await answers(page, '200 columns, 1,000 rows');
    const table = page.locator(id('statistics-table'));
    await table.hover();
    for (let turn = 0; turn < 20; turn += 1) await page.mouse.wheel(400, 400);
    await answers(page, '200 columns, scrolled');
    await harmless(page, '200 columns');
    await screenshot(page, 'hostile-columns');
  },

  async 'a dashboard with scripts in every text runs none'(page) {
    const asked = [];
    page.on('request', (request) => {
      if (new URL(request.url()).hostname.endsWith('example.org')) asked.push(request.url());
    });
    const status = await page.evaluate(
      async ([name, source]) => {
        const key = /splunkweb_csrf_token_\d+=([^;]*)/.exec(document.cookie)?.[1] ?? '';
        const answer = await fetch('/servicesNS/-/search/data/ui/views'.replace('-', 'admin'), {
          method: 'POST',
          headers: { 'X-Splunk-Form-Key': key },
          body: new URLSearchParams({ name, 'eai:data': source, output_mode: 'json' }),
        });
        return answer.status;
      },
      [`hostile_${Date.now()}`, VIEW],
    );
    check(status === 201, `the dashboard is made: ${status}`);
    await page.goto(`${url}/`);
    await page
      .locator(`${id('home-dashboards')} a[href*="hostile_"]`)
      .first()
      .click();
    await page.waitForSelector(`${id('progress')}[data-done="true"]`, { state: 'attached' });
    await page.waitForSelector(`${id('plot')} canvas`);
    await page.waitForSelector(id('map'));
    await harmless(page, 'a dashboard');
    await answers(page, 'a dashboard with scripts', `main button`);
    await page.goto(`${url}/`);
    await page.waitForSelector(id('home-opened'));
    await harmless(page, 'the home page');
    check(asked.length === 0, `nothing was fetched: ${asked.join()}`);
  },

  async 'an XML bomb in the editor does not stop it'(page) {
    const laughs = Array.from(
      { length: 9 },
      (_, at) => `<!ENTITY l${at + 1} "${`&l${at};`.repeat(10)}">`,
    );
    const bomb = `<!DOCTYPE d [<!ENTITY l0 "ha">${laughs.join('')}]><dashboard><label>&l9;</label></dashboard>`;
    await page.goto(`${url}/app/search/dashboards`);
    await page.click(id('create'));
    await page.getByLabel('Title').fill(`Bomb ${Date.now()}`);
    await page.click('[role="dialog"] button[type="submit"]');
    await page.getByText('Source', { exact: true }).click();
    const source = page.locator(`${id('source')} .cm-content`);
    await source.click();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(bomb);
    await page.waitForTimeout(500);
    await answers(page, 'an XML bomb in the editor', `${id('source')} .cm-content`);
  },
};

await sendAll();
const chosen = process.argv.slice(2).join(' ');
const taken = Object.entries(steps).filter(([name]) => name.includes(chosen));
await walk('hostile', Object.fromEntries(taken), {
  goesOn: true,
  async begin(page) {
    await page.addInitScript(() => {
      window.longTasks = [];
      new PerformanceObserver((list) => {
        for (const task of list.getEntries()) window.longTasks.push(task.duration);
      }).observe({ type: 'longtask' });
    });
    await page.goto(`${url}/jobs`);
    await signIn(page);
    await page.waitForFunction(() => document.title.startsWith('Jobs'));
  },
});

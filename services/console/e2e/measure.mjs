/**
 * Measures what a person waits for, and prints it beside the budgets of the console. No test: figures
 * depend on the machine.
 *
 *   KARST_URL=... KARST_USER=... KARST_PASSWORD=... KARST_E2E_QUERY=index=main npm run measure
 *
 * First paint is taken as a stranger's first visit: nothing in the cache, the processor four times slower,
 * 10 Mbit/s and 40 ms to the server. Frames are taken at full speed, while a table and a list of events of
 * 10,000 rows are scrolled. CPU is that of the main thread: it is the figure to compare on a machine that
 * does other work, too. The query needs 10,000 events over all time.
 */

import os from 'node:os';
import { openBrowser, openPage, signIn } from './browser.mjs';

const url = process.env.KARST_URL ?? 'http://localhost:8000';
const user = process.env.KARST_USER ?? 'admin';
const password = process.env.KARST_PASSWORD ?? 'changeme';
const query = process.env.KARST_E2E_QUERY ?? 'index=*';
/** Frames of a scroll: five seconds of 60 a second. */
const FRAMES = 300;
const RUNS = 3;

const id = (name) => `[data-testid="${name}"]`;
const addressOf = (q, more = {}) =>
  `${url}/app/search/search?${new URLSearchParams({ q, earliest: '0', latest: '', ...more })}`;

const quantile = (values, share) => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
};

function say(what, value, bar, unit = 'ms') {
  const verdict = value <= bar ? 'met' : 'not met';
  console.log(
    `${what.padEnd(64)} ${value.toFixed(1).padStart(8)} ${unit}   bar ${bar} ${unit}: ${verdict}`,
  );
}

async function login(page) {
  await page.goto(`${url}/jobs`);
  await signIn(page);
  await page.waitForFunction(() => document.title.startsWith('Jobs'));
}

/** First paint, and when the search page answers keys. */
async function visit(browser) {
  const { page } = await openPage(browser);
  await login(page);
  const session = await page.context().newCDPSession(page);
  await session.send('Network.enable');
  await session.send('Network.setCacheDisabled', { cacheDisabled: true });
  await session.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 40,
    downloadThroughput: (10 * 1e6) / 8,
    uploadThroughput: (10 * 1e6) / 8,
  });
  await session.send('Emulation.setCPUThrottlingRate', { rate: 4 });
  await page.goto(`${url}/app/search/search`);
  await page.locator(id('search-input')).first().waitFor();
  const usable = await page.evaluate(() => performance.now());
  const paint = await page.evaluate(
    () => performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? Number.NaN,
  );
  await page.context().close();
  return { paint, usable };
}

/** Seconds of the processor that the page's main thread has used: other programs do not change them. */
async function processor(session) {
  const { metrics } = await session.send('Performance.getMetrics');
  const of = (name) => metrics.find((metric) => metric.name === name)?.value ?? Number.NaN;
  return of('ScriptDuration') + of('LayoutDuration') + of('RecalcStyleDuration');
}

/** Time of each frame while `selector` is scrolled, and the longest task. */
async function scroll(page, selector, step) {
  // Counters begin with the session.
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  const before = await processor(session);
  const seen = await page.evaluate(
    async ([where, pixels, frames]) => {
      const tasks = [];
      const observer = new PerformanceObserver((list) => {
        for (const task of list.getEntries()) tasks.push(task.duration);
      });
      observer.observe({ type: 'longtask' });
      let box = document.querySelector(where);
      while (box && box.scrollHeight <= box.clientHeight + 1) box = box.parentElement;
      const times = [];
      let before = await new Promise(requestAnimationFrame);
      for (let frame = 0; frame < frames; frame += 1) {
        box.scrollTop += pixels;
        const now = await new Promise(requestAnimationFrame);
        times.push(now - before);
        before = now;
      }
      observer.disconnect();
      return { times, longest: Math.max(0, ...tasks), reached: box.scrollTop };
    },
    [selector, step, FRAMES],
  );
  return { ...seen, cpu: ((await processor(session)) - before) * 1000 };
}

function sayScroll(what, { times, longest, reached, cpu }) {
  say(`${what}: scripts, style and layout of a frame, CPU`, cpu / times.length, 16.7);
  say(`${what}: frame, p95`, quantile(times, 0.95), 16.7);
  say(`${what}: frame, median`, quantile(times, 0.5), 16.7);
  say(`${what}: longest task`, longest, 50);
  console.log(`${''.padEnd(64)} ${times.length} frames, ${reached.toFixed(0)} pixels`);
}

console.log(`${os.cpus().length} × ${os.cpus()[0]?.model}, load ${os.loadavg()[0]?.toFixed(1)}`);
const browser = await openBrowser();
console.log(`Chromium ${browser.version()}`);

const visits = [];
for (let run = 0; run < RUNS; run += 1) visits.push(await visit(browser));
say(
  'first paint, slowed',
  quantile(
    visits.map((one) => one.paint),
    0.5,
  ),
  1000,
);
say(
  'search page usable, slowed',
  quantile(
    visits.map((one) => one.usable),
    0.5,
  ),
  2000,
);

const { page } = await openPage(browser);
await login(page);
const done = () => page.waitForSelector(`${id('job')}[data-phase="done"]`, { timeout: 120_000 });
const columns = Array.from({ length: 30 }, (_, at) => `column_${at}=n*${at + 1}`).join(', ');
await page.goto(addressOf(`| makeresults count=10000 | streamstats count AS n | eval ${columns}`));
await done();
await page.waitForSelector(`${id('statistics-table')} tbody tr`);
await page.waitForTimeout(2_000);
sayScroll('table of 10,000 rows × 30', await scroll(page, `${id('statistics-table')}`, 60));
await page.goto(addressOf(query));
await done();
await page.waitForSelector(id('event'));
await page.waitForTimeout(2_000);
sayScroll('events', await scroll(page, id('event'), 60));

// A wide report: how long the page is stopped from its address until its rows are there, while it is sorted and
// while it is scrolled. A task counts by the clock, as a person waits for it, and by the processor's time, which
// other programs on the machine do not change.
const wide = Array.from({ length: 200 }, (_, at) => `wide_${at}=n*${at + 1}`).join(', ');
const wideTable = `${id('statistics-table')}[aria-rowcount="10001"]`;

/** The longest tasks of the page's main thread while something is done, in milliseconds. */
async function tasksOf(act) {
  await browser.startTracing(page, { categories: ['toplevel', 'devtools.timeline'] });
  await act();
  const { traceEvents } = JSON.parse((await browser.stopTracing()).toString());
  const threadOf = ({ pid, tid }) => `${pid} ${tid}`;
  // There are renderers of other pages: the one that has worked most.
  const busy = new Map();
  const mains = traceEvents.filter(
    ({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain',
  );
  for (const thread of mains.map(threadOf)) busy.set(thread, []);
  for (const event of traceEvents) {
    if (event.name === 'ThreadControllerImpl::RunTask') busy.get(threadOf(event))?.push(event);
  }
  const spent = (all) => all.reduce((sum, task) => sum + (task.tdur ?? 0), 0);
  const [tasks = []] = [...busy.values()].sort((a, b) => spent(b) - spent(a));
  const times = (key) => tasks.map((task) => (task[key] ?? 0) / 1_000);
  const over = times('dur').filter((time) => time > 50);
  return {
    longest: Math.max(0, ...times('dur')),
    cpu: Math.max(0, ...times('tdur')),
    count: over.length,
    all: over.reduce((sum, time) => sum + time, 0),
  };
}

function sayTasks(what, { longest, cpu, count, all }) {
  say(`10,000 rows × 200 columns, ${what}: longest task`, longest, 50);
  say(`10,000 rows × 200 columns, ${what}: longest task, CPU`, cpu, 50);
  console.log(`${''.padEnd(64)} ${count} tasks of more than 50 ms, ${all.toFixed(0)} ms`);
}

const scrollWide = ([down, right]) =>
  page.evaluate(
    async ([selector, x, y]) => {
      let box = document.querySelector(selector);
      while (box && box.scrollHeight <= box.clientHeight + 1) box = box.parentElement;
      for (let frame = 0; frame < 60; frame += 1) {
        box.scrollBy(x, y);
        await new Promise(requestAnimationFrame);
      }
    },
    [wideTable, right, down],
  );
for (let run = 0; run < RUNS; run += 1) {
  const shown = await tasksOf(async () => {
    await page.goto(addressOf(`| makeresults count=10000 | streamstats count AS n | eval ${wide}`));
    await page.waitForSelector(`${wideTable} tbody tr`);
    await page.waitForTimeout(1_500);
  });
  sayTasks('until shown', shown);
  const sorted = await tasksOf(async () => {
    await page.locator(`${wideTable} thead button`).nth(1).click();
    await page.waitForTimeout(1_000);
  });
  sayTasks('sorted', sorted);
  sayTasks('scrolled down', await tasksOf(() => scrollWide([200, 0])));
  sayTasks('scrolled right', await tasksOf(() => scrollWide([0, 200])));
}

// A dashboard of twenty charts: from the last answer until all are painted.
const PANELS = 20;
const chart = (at) =>
  `<panel><chart><search><query>| makeresults count=200 | streamstats count AS n | eval _time=_time-n*60, a=n*${at}%17, b=n*3%11 | table _time a b</query></search><option name="charting.chart">${at % 2 ? 'line' : 'column'}</option></chart></panel>`;
const charts = Array.from({ length: PANELS }, (_, at) => chart(at + 1));
const rows = Array.from({ length: PANELS / 4 }, (_, at) => charts.slice(4 * at, 4 * at + 4));
const view = `<dashboard version="1.1"><label>Twenty</label>${rows.map((row) => `<row>${row.join('')}</row>`).join('')}</dashboard>`;
const views = `${url}/servicesNS/${encodeURIComponent(user)}/search/data/ui/views`;
const identity = {
  Authorization: `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`,
};
const asForm = (form) => ({ method: 'POST', headers: identity, body: new URLSearchParams(form) });
await fetch(`${views}/twenty_measured`, { method: 'DELETE', headers: identity });
const made = await fetch(views, asForm({ name: 'twenty_measured', 'eai:data': view }));
if (!made.ok) throw new Error(`the dashboard is not made: ${made.status} ${await made.text()}`);
await page.setViewportSize({ width: 1440, height: 2_400 });
await page.addInitScript((panels) => {
  const Plain = window.Worker;
  window.Worker = class extends Plain {
    constructor(...given) {
      super(...given);
      this.addEventListener('message', () => {
        window.lastAnswer = performance.now();
      });
    }
  };
  const look = (now) => {
    const done = document.querySelectorAll('[data-testid="element"][data-phase="done"] canvas');
    if (done.length >= panels) requestAnimationFrame((then) => (window.painted = then));
    else requestAnimationFrame(look);
    window.looked = now;
  };
  requestAnimationFrame(look);
}, PANELS);
for (let run = 0; run < RUNS; run += 1) {
  await page.goto(`${url}/app/search/twenty_measured`);
  await page.waitForFunction(() => window.painted !== undefined, null, { timeout: 120_000 });
  const [after, all] = await page.evaluate(() => [
    window.painted - window.lastAnswer,
    window.painted,
  ]);
  say('dashboard of 20 charts: last answer until painted', after, 300);
  console.log(`${''.padEnd(64)} all painted ${all.toFixed(0)} ms after the address was opened`);
}
await fetch(`${views}/twenty_measured`, { method: 'DELETE', headers: identity });
await page.setViewportSize({ width: 1440, height: 900 });

// From a key in the search field until it is painted.
await page.goto(addressOf(`${query} | head 100`));
await done();
const field = page.locator(id('search-input')).first();
await field.click();
await page.evaluate(() => {
  window.keys = [];
  addEventListener(
    'keydown',
    (event) =>
      requestAnimationFrame(() =>
        setTimeout(() => window.keys.push(performance.now() - event.timeStamp)),
      ),
    true,
  );
});
await page.keyboard.press('End');
for (const key of ' | stats count by host, source | sort - count') {
  await page.keyboard.press(key === ' ' ? 'Space' : key);
  await page.waitForTimeout(60);
}
say('key press to painted, p95', quantile(await page.evaluate(() => window.keys), 0.95), 50);
await browser.close();

/**
 * The five main tasks by keyboard alone: search, report, dashboard, data, index. The steps get no page, but keys
 * (`keysOf`): nothing in them can click, point, fill a field or go to an address.
 *
 *   KARST_URL=http://localhost:8000 KARST_USER=admin KARST_PASSWORD=... node e2e/keyboard.e2e.mjs
 *
 * The server needs the app and an index `gallery` (tests/clients/test_dashboards.py).
 */

import { check, screenshot, walk } from './browser.mjs';

const url = process.env.KARST_URL ?? 'http://localhost:8000';
const user = process.env.KARST_USER ?? 'admin';
const password = process.env.KARST_PASSWORD ?? 'changeme';

const id = (name) => `[data-testid="${name}"]`;
const JOB_DONE = `${id('job')}[data-phase="done"]`;
const REPORT = 'Keys: requests by host';
const INDEX = 'e2e_keys';
/** Presses of Tab after which a part of the page counts as out of reach. */
const MOST_TABS = 120;

/** What a person with a keyboard has: keys, and what the page shows. */
function keysOf(page) {
  const focusIs = (selector) =>
    page.evaluate((wanted) => document.activeElement?.matches(wanted) ?? false, selector);

  /** The focused part, as a message names it. */
  const focused = () =>
    page.evaluate(() => {
      const one = document.activeElement;
      const name = one?.getAttribute('aria-label') ?? one?.textContent?.trim().slice(0, 40);
      return `${one?.tagName.toLowerCase()} "${name}"`;
    });

  /** What keeps the focused part from being seen; null if nothing does. */
  const hidden = () =>
    page.evaluate(() => {
      const one = document.activeElement;
      if (!one || one === document.body) return 'nothing has the focus';
      const looks = [one, one.closest('[data-testid], .cm-editor, label, div')]
        .filter(Boolean)
        .map((element) => getComputedStyle(element));
      const hasRing = looks.some(
        (look) =>
          (look.outlineStyle !== 'none' && Number.parseFloat(look.outlineWidth) > 0) ||
          look.boxShadow !== 'none',
      );
      const isField = one.matches('input, textarea, select, [contenteditable="true"]');
      if (!hasRing && !isField) return 'the focus is not visible';
      const box = one.getBoundingClientRect();
      const middle = (from, to, most) => (Math.max(from, 0) + Math.min(to, most)) / 2;
      const x = middle(box.left, box.right, innerWidth);
      const top = document.elementFromPoint(x, middle(box.top, box.bottom, innerHeight));
      const isCovered = !top || !(one.contains(top) || top.contains(one));
      return isCovered ? `it is covered by ${top?.outerHTML.slice(0, 120)}` : null;
    });

  /** The focused part has a ring, or its field has, and nothing covers it. */
  async function seen() {
    // Rows of a list are placed once those before them are measured, some frames after they have grown.
    let problem = await hidden();
    for (let looks = 0; problem && looks < 20; looks += 1) {
      await page.waitForTimeout(100);
      problem = await hidden();
    }
    if (problem) throw new Error(`${await focused()}: ${problem}`);
  }

  return {
    press: (key) => page.keyboard.press(key),
    type: (text) => page.keyboard.type(text),
    seen,
    focused,

    shows: (selector, options) => page.waitForSelector(selector, options),
    gone: (selector) => page.waitForSelector(selector, { state: 'detached' }),
    text: (selector) => page.locator(selector).first().textContent(),
    value: (selector) => page.locator(selector).first().inputValue(),
    reaches: (address) => page.waitForURL(address),
    address: () => new URL(page.url()),
    picture: (name) => screenshot(page, name),

    /** Waits until a part has the focus by itself. */
    async has(selector) {
      await page
        .waitForFunction((wanted) => document.activeElement?.matches(wanted), selector)
        .catch(async () => {
          throw new Error(`expected: the focus is at ${selector}, not at ${await focused()}`);
        });
      await seen();
    },

    /** Waits until some part has the focus: what had it is gone. */
    async hasSome() {
      await page
        .waitForFunction(() => ![null, document.body].includes(document.activeElement))
        .catch(() => {
          throw new Error('expected: a part of the page has the focus');
        });
    },

    /** Presses a key until a part has the focus. */
    async goTo(selector, key = 'Tab') {
      for (let presses = 0; presses < MOST_TABS; presses += 1) {
        await page.keyboard.press(key);
        if (await focusIs(selector)) return seen();
      }
      throw new Error(`${selector} is not reached with ${key}; the last is ${await focused()}`);
    },

    /** To a page by its name. */
    async palette(name) {
      await page.keyboard.press('Control+k');
      await page.waitForSelector(`${id('palette')} [role="listbox"]`);
      await page.keyboard.type(name);
      await page.locator('[role="option"][aria-selected="true"]', { hasText: name }).waitFor();
      await page.keyboard.press('Enter');
    },
  };
}

const tasks = {
  async 'logs in, searches and opens an event'(keys) {
    await keys.has('input[name="username"]');
    await keys.type(user);
    await keys.goTo('input[name="password"]');
    await keys.type(password);
    await keys.press('Enter');
    await keys.shows(id('home'));
    await keys.press('/');
    await keys.has(id('home-search'));
    await keys.type('index=gallery');
    await keys.press('Enter');
    await keys.shows(JOB_DONE);
    await keys.goTo(`${id('event')} [aria-expanded]`);
    await keys.press('Enter');
    await keys.goTo(id('event-details'));
    await keys.press('Enter');
    await keys.shows(`${id('surrounding')} [aria-current]`);
    await keys.picture('keyboard-event');
    await keys.press('Escape');
    await keys.gone(id('event-panel'));
    await keys.has(id('event-details'));
  },

  async 'saves the search as a report, and opens it'(keys) {
    await keys.press('/');
    await keys.has(id('search-input'));
    await keys.press('Control+a');
    await keys.type('index=gallery | stats count by host');
    await keys.press('Enter');
    await keys.shows(`${id('statistics-table')} tbody tr`);
    await keys.shows(JOB_DONE);
    await keys.goTo(id('save'));
    await keys.press('Enter');
    await keys.shows(id('save-report'));
    await keys.goTo(id('save-report'), 'ArrowDown');
    await keys.press('Enter');
    await keys.has(`${id('report-form')} input[name="name"]`);
    await keys.type(REPORT);
    await keys.press('Enter');
    await keys.gone(id('report-form'));
    await keys.has(id('save'));
    await keys.press('g');
    await keys.press('r');
    await keys.shows(id('reports'));
    await keys.goTo(`${id('reports')} a[href*="Keys"]`);
    await keys.press('Enter');
    await keys.shows(JOB_DONE);
    await keys.shows(`${id('statistics-table')} tbody tr`);
  },

  async 'opens the palette and the keys over an open menu, and loses no key'(keys) {
    await keys.goTo(id('save'));
    await keys.press('Enter');
    await keys.shows('[role="menuitem"]');
    await keys.palette('Macros');
    await keys.reaches('**/settings/macros');
    await keys.goTo(id('user-menu'), 'Shift+Tab');
    await keys.press('Enter');
    await keys.shows('[role="menuitem"]');
    await keys.press('?');
    await keys.gone('[role="menu"]');
    await keys.has('[aria-modal="true"] [aria-label="Close"]');
    await keys.press('Escape');
    await keys.has(id('user-menu'));
  },

  async 'removes the report'(keys) {
    await keys.palette('Reports');
    await keys.shows(id('reports'));
    await keys.goTo(`[aria-label="More for ${REPORT}"]`);
    await keys.press('Enter');
    await keys.shows('[role="menuitem"]');
    await keys.goTo('[role="menuitem"]:last-child', 'ArrowDown');
    await keys.press('Enter');
    await keys.shows(id('delete-report'));
    await keys.goTo(`${id('delete-report')} [type="submit"]`);
    await keys.press('Enter');
    await keys.gone(id('delete-report'));
    await keys.hasSome();
  },

  async 'opens a dashboard, changes an input, uses a drilldown'(keys) {
    await keys.palette('Dashboard gallery');
    await keys.reaches('**/app/gallery/search*');
    await keys.palette('Dashboards');
    await keys.shows(`${id('dashboards')} tbody tr`);
    await keys.goTo(`${id('dashboards')} a[href$="/overview"]`);
    await keys.press('Enter');
    await keys.shows(`${id('progress')}[data-done="true"]`, { state: 'attached' });
    await keys.goTo(`${id('input-host')} input`);
    await keys.type('web-03');
    await keys.shows('[role="option"]:has-text("web-03")');
    // A list that opens late forgets the option that typing has marked.
    await keys.press('ArrowDown');
    await keys.press('Enter');
    await keys.reaches((address) => address.searchParams.get('form.host') === 'web-03');
    await keys.shows('#paths tbody tr:nth-child(1) td:nth-child(3):has-text("web-03")');
    await keys.goTo('#paths tbody button');
    await keys.press('Enter');
    await keys.shows('#clicked');
    await keys.picture('keyboard-dashboard');
    await keys.goTo('#clicked a');
    await keys.press('Enter');
    await keys.gone('#clicked');
  },

  async 'adds data by paste, and finds it'(keys) {
    await keys.palette('Add data');
    await keys.shows(id('ways'));
    await keys.goTo(`${id('ways')} a[href$="/paste"]`);
    await keys.press('Enter');
    await keys.goTo('textarea');
    await keys.type('2026-11-26 10:00:00 user=keys');
    await keys.press('Enter');
    await keys.type('2026-11-26 10:00:01 user=keys');
    await keys.goTo(`${id('load-form')} select`);
    await keys.type('gallery');
    check((await keys.value(`${id('load-form')} select`)) === 'gallery', 'the index is chosen');
    await keys.shows(`${id('preview-event')} mark`);
    await keys.goTo(`${id('load-form')} [type="submit"]`);
    await keys.press('Enter');
    await keys.shows(`${id('load-report')} tbody tr`);
    check((await keys.text(id('load-report'))).includes('2 events'), 'both are loaded');
    await keys.goTo(`${id('load-report')} a[href*="search"]`);
    await keys.press('Enter');
    await keys.shows(JOB_DONE);
    await keys.shows(`${id('event')}:has-text("user=keys")`);
  },

  async 'creates an index, and removes it'(keys) {
    await keys.palette('Indexes');
    await keys.shows(id('object-row'));
    await keys.goTo(id('new-object'));
    await keys.press('Enter');
    await keys.has(`${id('object-form')} input[name="name"]`);
    await keys.type(INDEX);
    await keys.press('Enter');
    await keys.gone(id('object-form'));
    await keys.has(id('new-object'));
    await keys.goTo(`[aria-label="More for ${INDEX}"]`);
    await keys.press('Enter');
    await keys.shows('[role="menuitem"]');
    await keys.goTo('[role="menuitem"]:last-child', 'ArrowDown');
    await keys.press('Enter');
    await keys.has(`${id('remove-form')} input`);
    await keys.type(INDEX);
    await keys.press('Enter');
    await keys.gone(id('remove-form'));
    await keys.gone(`[aria-label="More for ${INDEX}"]`);
    await keys.hasSome();
  },

  async 'signs out'(keys) {
    await keys.palette('Sign out');
    await keys.has('input[name="username"]');
  },
};

const steps = Object.fromEntries(
  Object.entries(tasks).map(([what, task]) => [what, (page) => task(keysOf(page))]),
);

await walk('keyboard', steps, { begin: (page) => page.goto(url) });

/**
 * Walks through the dashboards of the app `gallery` (e2e/dashboards-app) as a person would.
 *
 *   KARST_URL=http://localhost:8000 KARST_USER=admin KARST_PASSWORD=... node e2e/dashboards.e2e.mjs
 *
 * The server needs the app and an index `gallery` (tests/clients/test_dashboards.py).
 */

import { accessible, check, screenshot, signIn, walk } from './browser.mjs';

const url = process.env.KARST_URL ?? 'http://localhost:8000';

const id = (name) => `[data-testid="${name}"]`;
const VIEWS = ['overview', 'charts', 'tables', 'singles', 'trellis', 'maps', 'hostile', 'submit'];

async function open(page, view, query = '') {
  await page.goto(`${url}/app/gallery/${view}${query}`);
  await page.waitForSelector(id('dashboard'));
}

/** Every search that is under way has ended, and there was one. */
const finished = (page) =>
  page.waitForSelector(`${id('progress')}[data-done="true"]`, { state: 'attached' });

const textOf = (page, selector) => page.locator(selector).first().textContent();

/** All of some cells begin so, and there are as many as wanted. */
const everyCell = (page, selector, begin, least = 1) =>
  page.waitForFunction(
    ([cells, text, count]) => {
      const found = [...document.querySelectorAll(cells)].map((cell) => cell.textContent);
      return found.length >= count && found.every((one) => one.startsWith(text));
    },
    [selector, begin, least],
  );

/** The sum of the counts of the selected span, once it is between two numbers. */
async function sumBetween(page, above, below) {
  const sum = await page.waitForFunction(
    ([least, most]) => {
      const cells = document.querySelectorAll('#span-hosts tbody td:nth-child(2)');
      const all = [...cells].reduce((total, cell) => total + Number(cell.textContent), 0);
      return all > least && all < (most ?? Number.POSITIVE_INFINITY) ? all : false;
    },
    [above, Number.isFinite(below) ? below : null],
  );
  return sum.jsonValue();
}

/** Saves `my_page` as another session would. */
async function storeElsewhere(page, text) {
  const status = await page.evaluate(async (body) => {
    const { sessionKey } = JSON.parse(sessionStorage.getItem('karst.session') ?? '{}');
    const key = /(?:^|;\s*)splunkweb_csrf_token_\d+=([^;]*)/.exec(document.cookie)?.[1] ?? '';
    const headers = sessionKey
      ? { Authorization: `Splunk ${sessionKey}` }
      : { 'X-Splunk-Form-Key': key };
    const answer = await fetch('/servicesNS/nobody/gallery/data/ui/views/my_page', {
      method: 'POST',
      headers,
      body: new URLSearchParams({ 'eai:data': body }),
    });
    return answer.status;
  }, text);
  check(status === 200, `the other session saves: ${status}`);
}

const steps = {
  async 'a person logs in'(page) {
    await page.goto(url);
    await signIn(page);
    await page.waitForSelector(id('user-menu'));
  },

  async 'the list has the dashboards of the app, and its bar what its navigation names'(page) {
    await page.goto(`${url}/app/gallery/dashboards`);
    await page.waitForSelector(`${id('dashboards')} tbody tr`);
    const text = await textOf(page, id('dashboards'));
    for (const title of ['Overview & requests', 'Charts', 'Tables and events', 'Single values']) {
      check(text.includes(title), `the list has ${title}`);
    }
    const bar = page.locator('nav[aria-label="Pages of Dashboard gallery"]');
    check((await bar.locator('a[href^="javascript"]').count()) === 0, 'no script in the bar');
    await bar.locator('button:has-text("Parts")').click();
    await page.locator('[role="menuitem"]:has-text("Tables and events")').waitFor();
    await page.keyboard.press('Escape');
    await screenshot(page, 'dashboards-list');
  },

  async 'searches share a base; a handler fills a title; each state is said'(page) {
    await open(page, 'overview');
    await finished(page);
    const total = page.locator('#total');
    await total.locator(id('single')).waitFor();
    check(
      (await total.textContent()).includes('2,000'),
      `all requests: ${await total.textContent()}`,
    );
    check(/in \d+ groups, first web-01/.test(await total.textContent()), 'tokens of the handler');
    for (const state of ['waiting', 'failed', 'empty'])
      await page.waitForSelector(`[data-state="${state}"]`);
    check(
      (await textOf(page, '[data-state="waiting"]')).includes('$nobody$'),
      'the token is named',
    );
    check((await textOf(page, '[data-state="failed"]')).includes('stast'), 'the mistake is named');
    await page.getByText('A prebuilt panel').waitFor();
    await page.getByText('A map of markers needs columns').waitFor();
    await screenshot(page, 'dashboards-overview');
  },

  async 'an input changes the searches and the address, and the address leads back'(page) {
    await page
      .locator(`${id('input-host')} input`)
      .first()
      .click();
    await page.locator('[role="option"]:has-text("web-03")').click();
    await page.waitForFunction(
      () => new URL(location.href).searchParams.get('form.host') === 'web-03',
    );
    await everyCell(page, '#paths tbody tr td:nth-child(3)', 'web-03');
    await page.reload();
    await everyCell(page, '#paths tbody tr td:nth-child(3)', 'web-03');
    check((await page.inputValue(`${id('input-host')} input`)) === 'web-03', 'the input shows it');
  },

  async 'a click moves an input and shows a panel, a link in HTML hides it again'(page) {
    await open(page, 'overview');
    await finished(page);
    // Beside the letters: the whole cell is clicked.
    const cell = page.locator('#paths tbody tr').first().locator('td:has(button)').first();
    await cell.click({ position: { x: 3, y: 3 } });
    await page.waitForSelector('#clicked');
    await page.waitForFunction(() =>
      new URL(location.href).searchParams.get('form.host')?.startsWith('web-'),
    );
    check(
      (await page.inputValue(`${id('input-host')} input`)).startsWith('web-'),
      'the input moved',
    );
    await page.click('#clicked a');
    await page.waitForSelector('#clicked', { state: 'detached' });
    await page.goBack();
    await page.waitForFunction(
      (input) => document.querySelector(input)?.value === 'All hosts',
      `${id('input-host')} input`,
    );
    check(!page.url().includes('form.host'), `the click is undone: ${page.url()}`);
  },

  async 'tabs show one row or the other'(page) {
    await page.click(`${id('input-tab')} button:has-text("Chart")`);
    await page.getByText('By path and status').waitFor();
    await page.waitForSelector('#paths', { state: 'detached' });
  },

  async 'every kind of chart is drawn, and is a table on demand'(page) {
    await open(page, 'charts');
    await finished(page);
    // What is below the fold is drawn once it is near.
    await page.evaluate(() => document.querySelector('#main').scrollTo(0, 100_000));
    await page.waitForFunction(
      () => document.querySelectorAll('[data-testid="plot"]').length >= 13,
    );
    await finished(page);
    const kinds = await page
      .locator(id('plot'))
      .evaluateAll((plots) => plots.map((plot) => plot.dataset.kind));
    for (const kind of [
      'line',
      'area',
      'column',
      'bar',
      'pie',
      'bubble',
      'scatter',
      'radialGauge',
      'fillerGauge',
      'markerGauge',
    ]) {
      check(kinds.includes(kind), `${kind} is drawn`);
    }
    const label = await page.locator('#line [role="img"]').getAttribute('aria-label');
    check(label.includes('Line chart of web-01'), `the chart has a name: ${label}`);
    await page.locator('#line').getByText('Show as table').focus();
    await page.keyboard.press('Enter');
    await page.waitForSelector('#line table');
    await page.locator('#line').getByText('Show as chart').click();
    await screenshot(page, 'dashboards-charts');
  },

  async 'a print has all elements, in light colours and as wide as paper'(page) {
    await page.emulateMedia({ colorScheme: 'dark' });
    await open(page, 'charts');
    await finished(page);
    // The dialog of the browser would stay open.
    await page.evaluate(() => {
      window.print = () => {
        const elements = [...document.querySelectorAll('[data-testid="element"]')];
        window.printed = {
          phases: elements.map((element) => element.dataset.phase),
          scheme: document.querySelector('#dashboard-page').dataset.mantineColorScheme,
          widest: Math.max(
            ...[...document.querySelectorAll('canvas')].map((canvas) => canvas.clientWidth),
          ),
        };
        window.dispatchEvent(new Event('afterprint'));
      };
    });
    await page.click('[aria-label="More actions of the dashboard"]');
    await page.click('[role="menuitem"]:has-text("Print or save as PDF")');
    await page.waitForFunction(() => window.printed !== undefined);
    const { phases, scheme, widest } = await page.evaluate(() => window.printed);
    check(phases.length > 10 && phases.every((phase) => phase === 'done'), phases.join());
    check(scheme === 'light', `the colours: ${scheme}`);
    check(widest < 720, `the widest chart: ${widest}`);
    await page.waitForSelector('#dashboard-page[data-printed="false"]');
    await page.emulateMedia({ colorScheme: null });
  },

  async 'a click on a bar sets the span of its time'(page) {
    await page.locator('#columns').scrollIntoViewIfNeeded();
    await page.waitForSelector('#columns canvas');
    // Panels above may still grow, so that the bar is somewhere else by then.
    for (let attempt = 0; attempt < 10; attempt += 1) {
      const box = await page.locator('#columns canvas').boundingBox();
      await page.mouse.click(box.x + box.width * 0.4, box.y + box.height * 0.6);
      const shown = page.waitForSelector('#span', { timeout: 2000 });
      if (await shown.catch(() => null)) break;
    }
    await page.waitForSelector('#span');
    check(
      /From \d{10}, web-0\d/.test(await page.textContent('#span')),
      await page.textContent('#span'),
    );
  },

  async 'a span selected with the mouse narrows another panel'(page) {
    await page.locator('#zoom').scrollIntoViewIfNeeded();
    const before = await sumBetween(page, 0, Number.POSITIVE_INFINITY);
    const box = await page.locator('#zoom canvas').boundingBox();
    await page.mouse.move(box.x + box.width * 0.4, box.y + box.height / 2);
    await page.mouse.down();
    await page.mouse.move(box.x + box.width * 0.6, box.y + box.height / 2, { steps: 6 });
    await page.mouse.up();
    await sumBetween(page, 0, before);
  },

  async 'a trellis has a panel for each value, one scale, and its tokens'(page) {
    await open(page, 'trellis');
    await finished(page);
    await page.waitForSelector('#values [data-testid="single"]');
    const titles = (selector) => page.locator(`${selector} h4`).allTextContents();
    check((await titles('#series')).join() === 'web-01,web-02,web-03', 'a panel for each host');
    check((await titles('#rows')).join() === 'start,page', 'a panel for each value of a column');
    check(
      (await titles('#aggregations')).join() === 'count,avg(bytes)',
      'a panel for each aggregation',
    );
    check((await page.locator(`#values ${id('single')}`).count()) === 7, 'a value for each path');
    await page.waitForSelector('#totals [data-testid="single"]');
    check((await titles('#totals')).join() === 'Hosts,Requests', 'a panel for each total');
    const totals = await page.locator(`#totals ${id('single')}`).allTextContents();
    check(totals.join() === '3,2,000', `each with its own value: ${totals}`);
    check(
      (await textOf(page, '#rows [aria-label="Series"]')).includes('404'),
      'one legend for all panels',
    );
    await page.waitForSelector('#series canvas');
    const box = await page.locator('#series canvas').nth(1).boundingBox();
    // Between two bars there is nothing to click.
    for (let x = 0; x < 12 && (await page.locator('#clicked-panel').count()) === 0; x += 2) {
      await page.mouse.click(box.x + box.width * 0.6 + x, box.y + box.height * 0.72);
    }
    await page.waitForSelector('#clicked-panel');
    check(
      (await page.textContent('#clicked-panel')) === 'Panel host web-02',
      await page.textContent('#clicked-panel'),
    );
    await screenshot(page, 'dashboards-trellis');
  },

  async 'maps have markers of one zoom level, and regions with their colours'(page) {
    const asked = [];
    page.on('request', (request) => asked.push(new URL(request.url()).origin));
    await open(page, 'maps');
    await finished(page);
    for (const map of ['markers', 'circles', 'regions', 'states', 'shapes']) {
      await page.locator(`#${map}`).scrollIntoViewIfNeeded();
      await page.waitForSelector(`#${map} canvas`);
    }
    const label = await page.locator('#regions [role="img"]').getAttribute('aria-label');
    check(label.startsWith('Visits by country: Map of visits by Country'), label);
    check(
      (await textOf(page, '#regions [data-testid="not-on-map"]')).includes('Atlantis'),
      'missing',
    );
    check((await page.locator('#regions [aria-label="Legend"] li').count()) === 4, 'four classes');
    check((await textOf(page, '#markers [aria-label="Legend"]')).includes('404'), 'a legend');
    await page.getByText('A map of markers needs columns').waitFor();
    check(
      asked.every((origin) => origin === new URL(url).origin),
      `nothing from elsewhere: ${asked}`,
    );
    // The middle of Brazil, on the map of the whole world.
    const box = await page.locator('#regions canvas').boundingBox();
    await page.mouse.click(
      box.x + box.width * 0.5 + -53 * 0.0022 * box.width,
      box.y + box.height * 0.66,
    );
    await page.waitForSelector('#country');
    check((await textOf(page, '#country')) === 'Country Brazil 31', await textOf(page, '#country'));
    await page.locator('#markers').getByLabel('Zoom in').click();
    await page.locator('#markers').getByText('Show as table').focus();
    await page.keyboard.press('Enter');
    await page.waitForSelector('#markers table');
    await screenshot(page, 'dashboards-maps');
  },

  async 'custom visualizations are drawn; those whose columns do not fit are tables that say why'(
    page,
  ) {
    await open(page, 'custom');
    await finished(page);
    await page.setViewportSize({ width: 1440, height: 1700 });
    for (const kind of ['sankey', 'network', 'treemap', 'punchcard', 'calendar', 'timeline']) {
      await page.waitForSelector(`[data-kind="${kind}"] canvas`);
    }
    check((await page.locator('#meters canvas').count()) === 3, 'a meter for each host');
    check((await textOf(page, '#status')).includes('Online'), 'the state');
    await page.getByText('1 of 22 links omitted').waitFor();
    await page.getByText('it needs two columns of names').waitFor();
    await page.getByText('other_app.other_viz is not drawn').waitFor();
    const box = await page.locator('#treemap canvas').boundingBox();
    await page.mouse.click(box.x + box.width * 0.25, box.y + box.height * 0.35);
    await page.waitForSelector('#leaf');
    check(/Chosen web-0\d \//.test(await textOf(page, '#leaf')), await textOf(page, '#leaf'));
    await screenshot(page, 'dashboards-custom');
    await page.setViewportSize({ width: 1440, height: 900 });
  },

  async 'tables have their colours, draw the rows in sight, and lead elsewhere'(page) {
    await open(page, 'tables');
    await finished(page);
    await page.waitForSelector('#many tbody tr');
    check(
      (await page.locator('#many tbody tr').count()) < 100,
      'of 1,000 rows those in sight are drawn',
    );
    const colours = await page.locator('#styled tbody td[style*="background"]').count();
    check(colours > 10, `cells are coloured: ${colours}`);
    check(
      (await page
        .locator('#styled .panel-title')
        .first()
        .evaluate((title) => getComputedStyle(title).letterSpacing)) === '1px',
      'the style sheet of the app applies',
    );
    check(
      (await page
        .locator('#styled')
        .evaluate((panel) => getComputedStyle(panel).backgroundImage)) === 'none',
      'nothing is fetched from elsewhere',
    );
    check((await page.locator('#many').textContent()).includes('row number 1'), 'rows');
    const [tab] = await Promise.all([
      page.context().waitForEvent('page'),
      page.locator('#many tbody tr').nth(1).locator('button').click(),
    ]);
    check(tab.url().includes('/app/gallery/overview?form.text=row%20number%20'), tab.url());
    await tab.close();
    await page.waitForSelector(`${id('dashboard-events')} li`);
    await screenshot(page, 'dashboards-tables');
  },

  async 'a button submits what is chosen'(page) {
    await open(page, 'submit');
    await page.waitForSelector('[data-state="waiting"]');
    await page.click(id('submit'));
    await page.waitForSelector(`${id('dashboard-table')} tbody tr`);
    await everyCell(page, `${id('dashboard-table')} tbody tr`, 'GETweb-01');
    await page.getByLabel('POST').click();
    await page.getByLabel('web-02').click();
    await page.click(id('submit'));
    await everyCell(page, `${id('dashboard-table')} tbody tr`, 'POSTweb-0', 2);
  },

  async 'a table without an option for clicks leads to the events of its cell'(page) {
    await page
      .locator(`${id('dashboard-table')} tbody button`)
      .first()
      .click();
    await page.waitForURL((address) => address.pathname === '/app/gallery/search');
    const search = new URL(page.url()).searchParams.get('q') ?? '';
    check(search.endsWith('method="POST"'), `the search: ${search}`);
  },

  async 'hostile content does nothing'(page) {
    const asked = [];
    page.on(
      'request',
      (request) => request.url().includes('example.org') && asked.push(request.url()),
    );
    await open(page, 'hostile');
    await finished(page);
    await page.waitForSelector('#token');
    await page.waitForSelector(`${id('dashboard-table')} tbody tr`);
    await page.waitForSelector(`${id('plot')} canvas`);
    await page
      .locator(`${id('dashboard-table')} tbody button`)
      .first()
      .click();
    check((await page.evaluate(() => window.hacked)) === undefined, 'no script ran');
    check(asked.length === 0, `nothing was fetched: ${asked.join()}`);
    for (const selector of [
      'main iframe',
      'main form',
      'main script',
      '#js[href]',
      '#remote[src]',
      'main [onclick]',
      'main [onerror]',
      'main svg[onload]',
    ]) {
      check((await page.locator(selector).count()) === 0, `no ${selector}`);
    }
    const style = await page
      .locator('#styled')
      .evaluate((box) => [getComputedStyle(box).position, getComputedStyle(box).fontWeight]);
    check(style[0] === 'static' && style[1] === '700', `styles are kept, places are not: ${style}`);
    check((await page.textContent('#token')).includes('<img src=x'), 'a token is text');
    check(page.url().endsWith('/hostile'), 'the page is still there');
  },

  async 'a new dashboard is made and edited by form: a chart, a panel that keys move, an input'(
    page,
  ) {
    await page.goto(`${url}/app/gallery/dashboards`);
    await page.click(id('create'));
    await page.getByLabel('Title').fill('My page');
    await page.getByLabel('Shared in the app').click();
    await page.click('[role="dialog"] button[type="submit"]');
    await page.waitForURL('**/app/gallery/my_page/edit');
    await page.waitForSelector(`${id('plot')} canvas`);
    await page.getByRole('button', { name: 'Events over time', exact: true }).click();
    await page.getByLabel('Chart', { exact: true }).selectOption('area');
    await page.waitForSelector('[data-kind="area"]');
    await page.locator(`${id('panel-search')} .cm-content`).click();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText('index=gallery | timechart count by host');
    await page.keyboard.press('Enter');
    await page.locator('[aria-label*="of web-01"]').waitFor();
    await page.click(id('add-panel'));
    await page.click('[role="menuitem"]:has-text("Table")');
    await page.waitForSelector(`${id('dashboard-table')} tbody tr`);
    await page.locator('[aria-label^="Move Events by host"]').focus();
    await page.keyboard.press('ArrowUp');
    await page.getByText('Row 1 of 1, place 2 of 2').waitFor({ state: 'attached' });
    await page.keyboard.press('ArrowLeft');
    const first = page.locator(`${id('panel-frame')} h3`).first();
    check((await first.textContent()) === 'Events by host', 'the handle keeps the focus');
    await page.getByText('The dashboard and its inputs').click();
    await page.click(id('add-input'));
    await page.click('[role="menuitem"]:has-text("Dropdown")');
    await page.waitForSelector(id('input-field'));
    await accessible(page, 'the editor');
    await page.getByLabel('Undo').click();
    await page.waitForSelector(id('input-field'), { state: 'detached' });
    await screenshot(page, 'dashboards-form-editor');
  },

  async 'a link and Cancel ask before unsaved changes are lost'(page) {
    const ask = page.locator(id('leave'));
    const leaves = {
      link: () => page.locator('nav a[href="/jobs"]').first().click(),
      button: () => page.getByRole('button', { name: 'Cancel', exact: true }).first().click(),
    };
    for (const [name, go] of Object.entries(leaves)) {
      await go();
      await ask.waitFor();
      check(page.url().includes('/app/gallery/my_page/edit'), `${name}: the address stays`);
      await ask.getByRole('button', { name: 'Cancel', exact: true }).click();
      await ask.waitFor({ state: 'detached' });
    }
    await page.waitForSelector(id('editor'));
  },

  async 'its source has what the form did; mistakes are in place; it is saved as typed, and deleted'(
    page,
  ) {
    await page.getByText('Source', { exact: true }).click();
    const source = page.locator(`${id('source')} .cm-content`);
    await source.waitFor();
    check(
      (await source.textContent()).includes('charting.chart">area</option>'),
      'the choice of the form is in the source',
    );
    await source.click();
    await page.keyboard.press('Control+End');
    await page.keyboard.insertText('<oops>');
    await page.getByText('a second root element').first().waitFor();
    check(await page.locator(id('save')).isDisabled(), 'a mistake is not saved');
    const text =
      '<!-- kept -->\n<dashboard version="1.1">\n  <label>My page</label>\n  <row><panel><html><p>As <b>typed</b> &amp; kept</p></html></panel></row>\n  <unknown a="1"/>\n</dashboard>\n';
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(text);
    await page
      .locator(`${id('editor')} [aria-label="Preview"]`)
      .getByText('As typed & kept')
      .waitFor();
    await screenshot(page, 'dashboards-editor');
    await page.click(id('save'));
    await page
      .locator(`${id('editor')} [role="status"]`, { hasText: 'Saved' })
      .first()
      .waitFor();
    await storeElsewhere(page, text.replace('typed', 'changed'));
    await source.click();
    await page.keyboard.press('Control+End');
    await page.keyboard.insertText('<!-- mine -->');
    await page.click(id('save'));
    const conflict = page.locator(id('conflict'));
    await conflict.getByRole('button', { name: 'Cancel' }).click();
    await conflict.waitFor({ state: 'detached' });
    await page.click(id('save'));
    await conflict.getByRole('button', { name: 'Discard mine and show theirs' }).click();
    await page.waitForFunction(() =>
      document.querySelector('[data-testid="source"]').textContent.includes('As <b>changed</b>'),
    );
    await source.click();
    await page.keyboard.press('Control+a');
    await page.keyboard.insertText(text);
    await page.click(id('save'));
    await page
      .locator(`${id('editor')} [role="status"]`, { hasText: 'Saved' })
      .first()
      .waitFor();
    await open(page, 'my_page');
    await page.getByText('As typed & kept').waitFor();
    const stored = await page.evaluate(async () => {
      const { sessionKey } = JSON.parse(sessionStorage.getItem('karst.session') ?? '{}');
      const headers = sessionKey ? { Authorization: `Splunk ${sessionKey}` } : {};
      const answer = await fetch('/servicesNS/-/gallery/data/ui/views/my_page?output_mode=json', {
        headers,
      });
      return (await answer.json()).entry[0].content['eai:data'];
    });
    check(stored.trim() === text.trim(), `what was typed is what is stored: ${stored}`);
    await page.goto(`${url}/app/gallery/dashboards`);
    await page.click('[aria-label="More for My page"]');
    await page.locator('[role="menuitem"]:has-text("Delete")').click();
    await page.click('[role="dialog"] button[type="submit"]');
    await page
      .locator(`${id('dashboards')} a`, { hasText: 'My page' })
      .waitFor({ state: 'detached' });
  },

  async 'a light dashboard has its colours in a dark console, and so has its editor'(page) {
    await page.evaluate(() => localStorage.setItem('mantine-color-scheme-value', 'dark'));
    for (const view of ['light', 'light/edit']) {
      await open(page, view);
      await page.waitForSelector(`${id('input-status')} input`, { state: 'attached' });
      const found = await page
        .locator('#dashboard-page .mantine-Input-input')
        .evaluateAll((inputs) => inputs.map((input) => getComputedStyle(input).backgroundColor));
      const others = found.filter((color) => color !== 'rgb(255, 255, 255)');
      check(found.length >= 3 && others.length === 0, `white inputs in ${view}: ${found}`);
      await accessible(page, `${view}, dark`);
    }
  },

  async 'no violation of WCAG 2.2 AA, light and dark'(page) {
    for (const scheme of ['light', 'dark']) {
      await page.evaluate(
        (name) => localStorage.setItem('mantine-color-scheme-value', name),
        scheme,
      );
      await page.goto(`${url}/app/gallery/dashboards`);
      await page.waitForSelector(`${id('dashboards')} tbody tr`);
      await accessible(page, `the list, ${scheme}`);
      for (const view of VIEWS.filter((name) => name !== 'hostile')) {
        await open(page, view);
        if (view !== 'submit') await finished(page);
        await accessible(page, `${view}, ${scheme}`);
      }
    }
  },
};

await walk('dashboards', steps, { goesOn: Boolean(process.env.KARST_E2E_ALL) });

/**
 * Edits the formats of a table and its drilldown by form, in the dashboard `formats` of the app `gallery`.
 *
 *   KARST_URL=http://localhost:8000 KARST_USER=admin KARST_PASSWORD=... node e2e/dashboardForm.e2e.mjs
 *
 * The server needs the app (tests/clients/test_dashboards.py), and the dashboard as it is in the app.
 */

import { readFileSync } from 'node:fs';
import { accessible, check, screenshot, signIn, walk } from './browser.mjs';

const url = process.env.KARST_URL ?? 'http://localhost:8000';
const view = new URL('./dashboards-app/default/data/ui/views/formats.xml', import.meta.url);
const ORIGINAL = readFileSync(view, 'utf8');

const id = (name) => `[data-testid="${name}"]`;

/** What the form adds and changes, as it is stored. */
const EXPECTED = ORIGINAL.replace('>none<', '>cell<')
  .replace(
    '        <unknown',
    `        <format field="hits" type="color">
          <colorPalette type="list">[#53A051,gold,tomato]</colorPalette>
          <scale type="threshold">500,1000</scale>
        </format>
        <format field="hits" type="number">
          <option name="precision">1</option>
          <option name="unit">req</option>
        </format>
        <unknown`,
  )
  .replace(
    '      </table>',
    `        <drilldown>
          <set token="chosen">$row.host$</set>
        </drilldown>
      </table>`,
  );

/** A new text of a field, told at once. */
async function type(field, text) {
  await field.fill(text);
  await field.press('Enter');
}

async function edit(page) {
  await page.goto(`${url}/app/gallery/formats/edit`);
  await page.getByRole('button', { name: 'Hits', exact: true }).click();
  await page.waitForSelector(`${id('dashboard-table')} tbody tr`);
}

/** The cell of a column in a row, once it has a colour. */
const colored = (page, row, color) =>
  page.waitForFunction(
    ([at, wanted]) => {
      const cell = document.querySelector(
        `#formatted tbody tr:nth-child(${at}) td:nth-child(2), [data-kind="table"] tbody tr:nth-child(${at}) td:nth-child(2)`,
      );
      return cell !== null && getComputedStyle(cell).backgroundColor === wanted;
    },
    [row, color],
  );

const [GREEN, GOLD, TOMATO] = ['rgb(83, 160, 81)', 'rgb(255, 215, 0)', 'rgb(255, 99, 71)'];

async function stored(page) {
  return page.evaluate(async () => {
    const { sessionKey } = JSON.parse(sessionStorage.getItem('karst.session') ?? '{}');
    const headers = sessionKey ? { Authorization: `Splunk ${sessionKey}` } : {};
    const path = '/servicesNS/-/gallery/data/ui/views/formats?output_mode=json';
    return (await (await fetch(path, { headers })).json()).entry[0].content['eai:data'];
  });
}

/** Saves what is edited; what is stored then. */
async function saved(page) {
  await page.click(id('save'));
  await page
    .locator(`${id('editor')} [role="status"]`, { hasText: 'Saved' })
    .first()
    .waitFor();
  return stored(page);
}

const steps = {
  async 'a person logs in'(page) {
    await page.goto(url);
    await signIn(page);
    await page.waitForSelector(id('user-menu'));
  },

  async 'a column gets colours by ranges; mistakes are said at their fields and are not written'(
    page,
  ) {
    await edit(page);
    await page.click(id('add-format'));
    await page.getByRole('menuitem', { name: 'Colour' }).click();
    const format = page.locator(id('format')).nth(1);
    const known = format.locator('datalist option[value="hits"]');
    await known.waitFor({ state: 'attached' });
    await type(format.getByLabel('Column', { exact: true }), 'hits');
    await format.getByLabel('Colour by').selectOption('Ranges');
    await colored(page, 1, 'rgb(220, 78, 65)');
    await type(format.getByLabel('Threshold 1'), '500');
    await format.getByText('Enter a number greater than 500').waitFor();
    await colored(page, 1, 'rgb(220, 78, 65)');
    await type(format.getByLabel('Threshold 2'), '1000');
    await format.getByText('Enter a number').waitFor({ state: 'detached' });
    await colored(page, 1, GREEN);
    const last = format.getByLabel('Colour from 1000', { exact: true });
    await type(last, 'reddish');
    await format.getByText('Enter a colour').waitFor();
    await accessible(page, 'the form with a mistake');
    await type(last, 'tomato');
    await format.getByText('Enter a colour').waitFor({ state: 'detached' });
    await type(format.getByLabel('Colour from 500', { exact: true }), 'gold');
    await colored(page, 2, GOLD);
    await colored(page, 3, TOMATO);
  },

  async 'its numbers get a precision and a unit'(page) {
    await page.click(id('add-format'));
    await page.getByRole('menuitem', { name: 'Number formatting' }).click();
    const format = page.locator(id('format')).nth(2);
    await type(format.getByLabel('Column', { exact: true }), 'hits');
    await type(format.getByLabel('Precision'), '21');
    await format.getByText('Enter a whole number from 0 to 20').waitFor();
    await type(format.getByLabel('Precision'), '1');
    await type(format.getByLabel('Unit', { exact: true }), 'req');
    await page.getByText('1,200.0 req').waitFor();
  },

  async 'a click sets a token, by keys'(page) {
    const choice = page.getByLabel('On click');
    check((await choice.inputValue()) === 'none', 'nothing at first');
    // The first letter of "Manage tokens on this dashboard".
    await choice.press('m');
    await page.getByLabel('Click selection').waitFor();
    check((await page.getByLabel('Click selection').inputValue()) === 'cell', 'on a cell');
    const action = page.locator(id('action'));
    await type(action.getByLabel('Token', { exact: true }), 'chosen');
    await type(action.getByLabel('Value', { exact: true }), '$row.host$');
    await screenshot(page, 'dashboards-form-formats');
  },

  async 'it has no violation of WCAG 2.2 AA, and fits into 390 pixels'(page) {
    await accessible(page, 'the form');
    await page.setViewportSize({ width: 390, height: 900 });
    await accessible(page, 'the narrow form');
    const isWide = await page.evaluate(
      () => document.documentElement.scrollWidth > document.documentElement.clientWidth,
    );
    check(!isWide, 'the page does not scroll sideways');
    await page.locator(id('format')).nth(1).scrollIntoViewIfNeeded();
    await screenshot(page, 'dashboards-form-formats-narrow');
    await page.setViewportSize({ width: 1440, height: 900 });
  },

  async 'only what was edited is another text'(page) {
    const text = await saved(page);
    check(text.trim() === EXPECTED.trim(), `the stored text is\n${EXPECTED}\nnot\n${text}`);
  },

  async 'the dashboard shows the colours and numbers, and a click sets the token'(page) {
    await page.goto(`${url}/app/gallery/formats`);
    await colored(page, 1, GREEN);
    await colored(page, 2, GOLD);
    await colored(page, 3, TOMATO);
    await page.getByRole('button', { name: '800.0 req' }).click();
    await page.getByText('Chosen: web-02').waitFor();
  },

  async 'the form is as it was, also in the dark; No action takes the click away again'(page) {
    await page.evaluate(() => localStorage.setItem('mantine-color-scheme-value', 'dark'));
    await edit(page);
    await accessible(page, 'the dark form');
    await screenshot(page, 'dashboards-form-formats-dark');
    const format = page.locator(id('format')).nth(1);
    check((await format.getByLabel('Threshold 2').inputValue()) === '1000', 'the threshold');
    check((await page.getByLabel('On click').inputValue()) === 'tokens', 'the action');
    await page.getByLabel('On click').selectOption('No action');
    await page.locator(id('action')).waitFor({ state: 'detached' });
    for (const at of [2, 1]) {
      await page
        .locator(id('format'))
        .nth(at)
        .getByRole('button', { name: /^Remove: / })
        .click();
    }
    const text = await saved(page);
    check(text.trim() === ORIGINAL.trim(), `the original is back:\n${text}`);
  },
};

await walk('dashboard-form', steps);

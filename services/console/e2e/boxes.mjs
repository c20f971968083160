/**
 * Where the parts of a page stand, against the places that were looked at by eye (boxes.json): style sheets have no
 * other test. Only pages whose content is the same at every server. Places are compared with a tolerance, and not
 * at all with a font of another width than that of the stored ones.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const FILE = fileURLToPath(new URL('./boxes.json', import.meta.url));
/** Stored places are multiples of this many pixels, and may be missed by as many. */
const GRID = 8;
/** Differences of one page that are named. */
const MOST = 12;

const stored = JSON.parse(readFileSync(FILE, 'utf8'));
const renewed = {};
let hasToldOfFont = false;

const isRenewing = process.env.KARST_BLESS === '1';

/** The page with which bar and rail are compared, too: they are the same on all. */
const WHOLE = 'not-found';

/** The parts of the page by their names: x, y, width and height. The server's name is another one everywhere. */
const measured = (page, isWhole) =>
  page.evaluate((whole) => {
    const root = (whole ? null : document.getElementById('main')) ?? document;
    const server = document.querySelector('[data-testid="server"]');
    if (server) server.style.display = 'none';
    const parts =
      'header, nav, main, h1, h2, form, table, th, td, button, a, input, select, textarea, [data-testid], [role="alert"], [role="status"]';
    const found = {};
    for (const part of root.querySelectorAll(parts)) {
      const { x, y, width, height } = part.getBoundingClientRect();
      if (width < 2 || height < 2 || !part.checkVisibility()) continue;
      const label =
        part.dataset.testid ?? part.getAttribute('aria-label') ?? part.getAttribute('name');
      const text = part.matches('main, form, table, nav, header') ? '' : part.textContent.trim();
      const name = `${part.tagName.toLowerCase()} ${label ?? text.slice(0, 30)}`.trim();
      let key = name;
      for (let number = 2; key in found; number += 1) key = `${name} ${number}`;
      found[key] = [x, y, width, height];
    }
    if (server) server.style.display = '';
    return found;
  }, isWhole);

/** The width of a text, by which fonts differ. */
const fontOf = (page) =>
  page.evaluate(() => {
    const text = document.createElement('span');
    text.style.cssText = 'position:absolute;white-space:nowrap;font-size:100px';
    text.textContent = 'Hamburgefonstiv 0123456789';
    document.body.append(text);
    const width = Math.round(text.getBoundingClientRect().width);
    text.remove();
    return width;
  });

const told = ([x, y, width, height]) =>
  `${Math.round(width)}×${Math.round(height)} at ${Math.round(x)}, ${Math.round(y)}`;

function differences(before, now) {
  const found = [];
  for (const [name, box] of Object.entries(before)) {
    const there = now[name];
    if (!there) found.push(`"${name}" is missing`);
    else if (box.some((value, at) => Math.abs(value - there[at]) > GRID)) {
      found.push(`"${name}" is ${told(there)}, not ${told(box)}`);
    }
  }
  for (const name of Object.keys(now)) if (!(name in before)) found.push(`"${name}" is new`);
  return found;
}

/** What has moved on the page that is shown, one line each. `KARST_BLESS=1` stores the places instead. */
export async function moved(page, label) {
  const font = await fontOf(page);
  const now = await measured(page, label.startsWith(WHOLE));
  if (isRenewing) {
    renewed.font = font;
    renewed[label] = now;
    return [];
  }
  if (font !== stored.font) {
    if (!hasToldOfFont) console.log(`places are not compared: the font is ${font} px wide`);
    hasToldOfFont = true;
    return [];
  }
  const found = differences(stored[label] ?? {}, now);
  if (found.length === 0) return [];
  const more = found.length > MOST ? [`and ${found.length - MOST} more`] : [];
  const hint = `if this is meant: KARST_BLESS=1 npm run e2e:pages -- ${label.split(' ')[0]}`;
  return [...found.slice(0, MOST), ...more, hint].map((text) => `places: ${text}`);
}

/** Writes the places of the pages that were shown, one part a line, and leaves the others. */
export function storeBoxes() {
  if (!isRenewing) return;
  const { font, ...pages } = { ...stored, ...renewed };
  const rounded = (box) => box.map((value) => Math.round(value / GRID) * GRID);
  const parts = (boxes) =>
    Object.entries(boxes)
      .map(([name, box]) => `    ${JSON.stringify(name)}: ${JSON.stringify(rounded(box))}`)
      .join(',\n');
  const text = Object.entries(pages)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([label, boxes]) => `  ${JSON.stringify(label)}: {\n${parts(boxes)}\n  }`)
    .join(',\n');
  writeFileSync(FILE, `{\n  "font": ${font},\n${text}\n}\n`);
}

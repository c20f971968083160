/**
 * Sizes of the built console against its budgets, packed with gzip as the server sends them. Fails over one.
 *
 *   npm run build && npm run size
 */

import { readdirSync, readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';

const DIST = new URL('./dist/', import.meta.url);
const KB = 1000;

const page = readFileSync(new URL('index.html', DIST), 'utf8');
const files = readdirSync(new URL('assets/', DIST));
const read = (name) => readFileSync(new URL(`assets/${name}`, DIST), 'utf8');
const packed = (names) =>
  names.reduce((sum, name) => sum + gzipSync(read(name), { level: 9 }).length, 0);

/** The scripts that a script loads before it runs. */
function needs(name, found = new Set()) {
  if (found.has(name)) return found;
  found.add(name);
  for (const [, other] of read(name).matchAll(/(?:from|import)\s*["']\.\/([^"']+\.js)["']/g)) {
    needs(other, found);
  }
  return found;
}

const entry = [...page.matchAll(/(?:src|href)="\/assets\/([^"]+)"/g)].map(([, name]) => name);
const first = new Set(
  entry.filter((name) => name.endsWith('.js')).flatMap((name) => [...needs(name)]),
);
const chunk = (begin) => {
  const name = files.find((file) => file.startsWith(`${begin}-`) && file.endsWith('.js'));
  if (!name) throw new Error(`there is no chunk ${begin}: correct its name in size.mjs`);
  return name;
};
/** What a part that is loaded later brings besides; `page`: what is there before it. */
const later = (begin, page) => {
  const name = chunk(begin);
  const before = page === undefined ? first : needs(chunk(page), new Set(first));
  return packed([...needs(name)].filter((file) => !before.has(file)));
};

const budgets = [
  ['scripts before the page is usable', 240, packed([...first])],
  ['styles of the first page', 30, packed(entry.filter((name) => name.endsWith('.css')))],
  ['editor', 120, later('SplEditor')],
  ['charts', 230, later('Chart')],
  ['charts of dashboards', 230, later('PlotCanvas', 'DashboardPage')],
  ['custom visualizations', 250, later('CustomCanvas', 'DashboardPage')],
  ['maps', 230, later('MapCanvas', 'DashboardPage')],
  ['outlines of countries', 40, later('countries-110m')],
  ['outlines of states', 40, later('states-10m')],
];
let isOver = false;
for (const [what, most, bytes] of budgets) {
  const over = bytes > most * KB;
  isOver ||= over;
  console.log(
    `${over ? 'OVER ' : 'ok   '} ${(bytes / KB).toFixed(1).padStart(6)} of ${most} KB  ${what}`,
  );
}
process.exit(isOver ? 1 : 0);

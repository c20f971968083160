import { describe, expect, it } from 'vitest';
import { decodeEntries } from '../api/decode';
import { plotLook } from '../dashboards/elements/plotLook';
import { allSearches, readDashboard } from '../dashboards/model/reader';
import type { Look } from '../visualization/chartOptions';
import { plotData } from '../visualization/plot';
import { plotOptions } from '../visualization/plotOptions';
import { COST } from './cost';
import { escaped, isMissing, missingOf, type Page, pageXml } from './panels';
import { PERFORMANCE } from './performance';
import {
  EXAMPLES,
  loadPrices,
  pricesRefusal,
  priceTokens,
  readPrices,
  writePrices,
} from './prices';
import { figuresOf } from './serverNow';

const PAGES: Page[] = [PERFORMANCE, { ...COST, tokens: priceTokens(readPrices(null)) }];

describe.each(PAGES)('the page $label', (page) => {
  const dashboard = readDashboard(pageXml(page));
  const panels = page.rows.flat();

  it('is read without a loss: every panel has its title and its search', () => {
    const lost = dashboard.report.findings.filter((one) => one.level !== 'ignored');
    expect(lost).toEqual([]);
    const searches = allSearches(dashboard).map((search) => search.source);
    for (const panel of panels) {
      if (isMissing(panel)) continue;
      expect(searches).toContainEqual({ kind: 'query', query: panel.search });
    }
  });

  it('uses only tokens that it defines', () => {
    const known = new Set([
      ...page.inputs.map((input) => input.token),
      ...Object.keys(page.tokens),
    ]);
    known.add('span.earliest').add('span.latest');
    for (const panel of panels) {
      if (isMissing(panel)) continue;
      const text = panel.search.replaceAll('$$', '');
      for (const [, name = ''] of text.matchAll(/\$([\w.]+)\$/g))
        expect(known, panel.title).toContain(name);
    }
  });

  it('says for every search why there may be no rows, or counts', () => {
    for (const panel of panels) {
      if (!isMissing(panel)) expect(panel.reason ?? '', panel.title).not.toBe('');
    }
  });

  it('shows the columns that its searches name, and a job only as a link', () => {
    const tables = dashboard.rows.flatMap((row) =>
      row.panels.flatMap((panel) => panel.elements.filter((one) => one.kind === 'table')),
    );
    const shown = page.rows.flat().filter((panel) => !isMissing(panel) && panel.kind === 'table');
    expect(tables.length).toBe(shown.length);
    for (const [at, panel] of shown.entries()) {
      if (isMissing(panel)) continue;
      expect(tables[at]?.fields, panel.title).toEqual(panel.fields ?? []);
      for (const name of [...(panel.fields ?? []), ...(panel.money ?? [])])
        expect(panel.search, panel.title).toMatch(new RegExp(`AS "?${name.replace(/[()]/g, '.')}`));
      if (panel.link) expect(panel.fields?.length, panel.title).toBeGreaterThan(0);
      expect(panel.search, panel.title).toMatch(/AS "?[A-Z]/);
    }
  });

  it('leaves its own searches out of lists of searches', () => {
    const lists = page.rows.flat().filter((panel) => !isMissing(panel) && panel.link);
    expect(lists.length).toBe(1);
    for (const panel of lists) expect(isMissing(panel) ? '' : panel.search).toContain(' $own$ ');
  });

  it('has no search that changes something', () => {
    for (const panel of panels) {
      if (isMissing(panel)) continue;
      expect(panel.search).not.toMatch(/\|\s*(?:collect|delete|outputlookup|sendemail|script)\b/);
    }
  });
});

it('every amount of dollars is computed with all digits', () => {
  const searches = COST.rows.flat().map((panel) => (isMissing(panel) ? '' : panel.search));
  const formulas = searches.flatMap((search) =>
    [...search.matchAll(/\b(?:usd|saved|month|ingest|kept|per_gb)=(\w+\(?)/g)].map(
      ([, begin]) => begin,
    ),
  );
  expect(formulas.length).toBeGreaterThan(20);
  expect(new Set(formulas)).toEqual(new Set(['exact(']));
});

const searchOf = (begin: string) => {
  const panel = COST.rows.flat().find(({ title }) => title.startsWith(begin));
  if (!panel || isMissing(panel)) throw new Error(`no panel ${begin}`);
  return panel.search;
};

it('the cost of a search is shared by its indexes', () => {
  const search = searchOf('By index');
  expect(search).toContain('usd=exact(usd/index_count)');
  expect(search).toContain('idx=split(indexes,",") | mvexpand idx');
});

it('an index is waste if no search read it, by the audit trail or by a text', () => {
  const search = searchOf('Waste');
  expect(search).toContain('mvappend(split(indexes,","),named)');
  expect(search).toContain('NOT provenance="UI:Monitor:*"');
  const [, source = ''] = /max_match=20 "\(\?i\)(.*?\))" \| eval/.exec(search) ?? [];
  const named = new RegExp(source.replaceAll('\\"', '"'), 'gi');
  const namesIn = (text: string) =>
    [...text.matchAll(named)].map(({ groups }) => groups?.named ?? '');
  expect(namesIn('search index=web [search index = "api-2" error]')).toEqual(['web', 'api-2']);
  expect(namesIn('SELECT * FROM web JOIN "auth" ON web.a = auth.a')).toEqual(['web', 'auth']);
  expect(namesIn('search index=* | stats count by index')).toEqual([]);
});

it('a cache of another size is priced with its disk, and the present size stands out', () => {
  const panel = COST.rows.flat().find(({ title }) => title.startsWith('Cache what-if'));
  if (!panel || isMissing(panel)) throw new Error('no panel');
  for (const price of ['get', 'transfer_gb', 'disk_gb_month'])
    expect(panel.search).toContain(`*$price_${price}$`);
  const page = { ...COST, rows: [[panel]], tokens: priceTokens(readPrices(null)) };
  const element = readDashboard(pageXml(page)).rows[0]?.panels[0]?.elements[0];
  const plot = plotLook(element?.options ?? new Map());
  const color = '#888888';
  const look: Look = {
    text: color,
    muted: color,
    line: color,
    surface: color,
    font: 'sans-serif',
    palette: [color],
  };
  const fields = ['Size of the cache', 'Requests', 'Requests at the present size', 'Dollars'];
  const rows = [
    ['2 GB', '900', null, '3'],
    ['4 GB', null, '500', '2'],
    ['8 GB', '100', null, '4'],
  ];
  const results = { fields, rows, preview: false, messages: [] };
  const context = { look, zone: 'UTC', width: 900, height: 230 };
  const options = plotOptions(plotData(results), plot, context);
  expect(options).toMatchObject({
    series: [
      { name: 'Requests', type: 'bar', stack: 'all', yAxisIndex: 0 },
      { name: 'Requests at the present size', type: 'bar', stack: 'all', yAxisIndex: 0 },
      { name: 'Dollars', type: 'line', yAxisIndex: 1 },
    ],
  });
});

it('prices that are free by default need not be set', () => {
  const set = EXAMPLES.filter(({ usd }) => usd > 0).map(({ key }) => `${key},1,x`);
  expect(readPrices(['key,usd,unit', ...set].join('\n')).areExamples).toBe(false);
  expect(readPrices(['key,usd,unit', ...set.slice(1)].join('\n')).areExamples).toBe(true);
});

it('signs of XML in a panel stay signs', () => {
  expect(escaped('a<b & "c">')).toBe('a&lt;b &amp; &quot;c&quot;&gt;');
});

it('prices of the file replace the examples, and the others stay examples', () => {
  const own = readPrices('key,usd,unit\nget,0.001,"1,000 requests"\nput,abc,x\nunknown,3,x\n');
  expect(priceTokens(own)).toMatchObject({ price_get: '0.001', price_put: '0.005' });
  expect(own.areExamples).toBe(true);
  expect(readPrices(null).list).toEqual(EXAMPLES);
});

it('the file of prices is asked for only where the list has it', async () => {
  const of = (name: string, app: string) => decodeEntries({ entry: [{ name, acl: { app } }] });
  const load = (files: ReturnType<typeof of>) => {
    const asked: string[] = [];
    const fileText = async (path: string) => {
      asked.push(path);
      return 'key,usd,unit\nput,9,a\n';
    };
    const client = { entries: async () => files, fileText };
    return loadPrices(client, new AbortController().signal).then(({ list }) => [
      list.find(({ key }) => key === 'put')?.usd,
      asked.length,
    ]);
  };
  expect(await load(of('other.csv', 'search'))).toEqual([0.005, 0]);
  expect(await load(of('karst_prices.csv', 'shop'))).toEqual([0.005, 0]);
  expect(await load(of('karst_prices.csv', 'search'))).toEqual([9, 1]);
});

it('prices are read as they are written', () => {
  const list = EXAMPLES.map((price, at) => ({ ...price, usd: at + 0.5 }));
  expect(readPrices(writePrices(list))).toEqual({ list, areExamples: false });
});

const content = (of: Record<string, unknown>) =>
  decodeEntries({ entry: [{ name: 'x', content: of }] })[0];

it('a full queue, a failed upload and a stopped intake are bad', () => {
  const figures = figuresOf(
    content({ health: 'yellow', conditions: ['disk is nearly full'] }),
    content({
      queues: [
        { stage: 'parsing', bytes: 10, capacity: 100 },
        { stage: 'journal', bytes: 95, capacity: 100 },
      ],
      uploads_waiting: 3,
      upload_error: 'access denied',
      intake_stopped: 'the disk is full',
    }),
    content({ dram_hits: 90, nvme_hits: 5, store_reads: 5 }),
  );
  const found = Object.fromEntries(figures.map((one) => [one.label, [one.value, one.level]]));
  expect(found).toMatchObject({
    Health: ['yellow', 'warning'],
    'Fullest queue': ['95.0%', 'bad'],
    'Uploads waiting': ['3', 'bad'],
    Intake: ['stopped', 'bad'],
    'Cache hits': ['95.0%', 'good'],
  });
});

it('an answer that is missing gives no figures', () => {
  expect(figuresOf(undefined, undefined, undefined)).toEqual([]);
});

it('a page needs every index of its panels', () => {
  const listed = ['main', '_internal'].map((name) => ({ name }));
  expect(missingOf(PERFORMANCE.indexes, listed)).toEqual(['_audit']);
  expect(missingOf(PERFORMANCE.indexes, [...listed, { name: '_audit' }])).toEqual([]);
});

it('prices are set by those who may write the file of the app', () => {
  expect(pricesRefusal(null, true)).toBeNull();
  expect(pricesRefusal('upload_lookup_files', true)).toContain('upload_lookup_files');
  expect(pricesRefusal(null, false)).toContain('the app search');
});

/**
 * States of pages that a server of the tests is not in, or not for long, and lists that are empty there: its answers
 * are replaced or changed on their way. The routes last until the next page, so that a page that asks again stays in
 * its state.
 */

const id = (name) => `[data-testid="${name}"]`;
const STATUS = '**/api/v1/jobs/status';
const refusal = (status, text, headers = {}) => ({
  status,
  headers,
  json: { messages: [{ type: 'ERROR', text }] },
});
const BUSY = refusal(503, 'the server runs as many searches as max_searches_total allows (8)', {
  'Retry-After': '5',
});
const FORBIDDEN = refusal(403, 'the user "eve" lacks the capability list_users');

/** Passes the server's answers to some requests through a function. */
export const change = (page, pattern, edit) =>
  page.route(pattern, async (route) => {
    try {
      const response = await route.fetch();
      await route.fulfill({ response, json: edit(await response.json()) });
    } catch {
      // The page has gone on to another one meanwhile.
    }
  });

/** Changes what the server says of every job. */
const withJobs = (page, content) =>
  change(page, STATUS, (json) => {
    for (const job of json.jobs ?? []) Object.assign(job.content, content);
    return json;
  });

/** Answers every request for a collection with a refusal. */
const refuse = (page, pattern, answer) => page.route(pattern, (route) => route.fulfill(answer));

/** Answers of a deployment server: that of the tests has no server classes. */
export const DEPLOYMENT = {
  config: {
    config: {
      disabled: false,
      error: 'system/local/serverclass.conf:15: "([" is not a pattern',
      messages: ['the app legacy of the server class web is not distributed'],
      loadTime: 1_795_000_000,
      currentDownloads: 0,
      maxConcurrentDownloads: 100,
      repositoryLocation: ['/etc/karst/deployment-apps'],
    },
  },
  serverclasses: {
    web: {
      clients: 2,
      'whitelist.0': 'web-*',
      'blacklist.0': 'web-test*',
      machineTypesFilter: 'linux-*',
      applications: { nginx: { restartSplunkd: true, stateOnClient: 'enabled' } },
    },
  },
  applications: {
    nginx: { checksum: '9b2e'.repeat(16), files: 2, size: 812, clients: 1, failedClients: 1 },
    legacy: { checksum: null, failedReason: 'default/x is a link', serverclasses: ['web'] },
  },
  clients: {
    a1: {
      clientName: 'web-7',
      hostname: 'web7',
      ip: '10.1.0.7',
      utsname: 'linux-x86_64',
      build: '0.1.0',
      lastPhoneHomeTime: 1_795_000_000,
      serverClasses: { web: {} },
      applications: {
        nginx: {
          action: 'Install',
          result: 'Fail',
          checksum: '9b2e'.repeat(16),
          failedReason: 'default/inputs.conf:2: there is no such index',
          serverclasses: ['web'],
        },
      },
    },
  },
};

/** Answers as a deployment server does. `config`: what it says of itself. */
export const withDeployment = (page, config) =>
  page.route('**/services/deployment/server/**', (route) => {
    const kind = new URL(route.request().url()).pathname.split('/').at(-1);
    const objects = kind === 'config' ? config : (DEPLOYMENT[kind] ?? {});
    const entry = Object.entries(objects).map(([name, content]) => ({ name, id: name, content }));
    return route.fulfill({ json: { entry } });
  });

/** The checksum of the installed apps of a cluster. */
const APPS = '9d41'.repeat(16);

/** A cluster of six processes. */
const CLUSTER = [
  ['cp-a', 'control-plane', 'zone-a', 0.2],
  ['cp-b', 'control-plane', 'zone-b', 0.1],
  ['idx-a', 'indexer', 'zone-a', 1.7],
  ['idx-b', 'indexer', 'zone-b', 2.1],
  ['idx-c', 'indexer', 'zone-c', 1.4],
  ['search-1', 'search-head', 'zone-a', 0.9],
].map(([label, role, site, load], at) => ({ label, role, site, load, id: `${at}f`.repeat(16) }));

const peer = ({ label, role, site, id: name }, at) => ({
  name,
  content: {
    label,
    roles: [role],
    site,
    status: 'Up',
    host_port_pair: `10.1.0.${10 + at}:8087`,
    leads_since: at === 0 ? '2026-11-29T06:00:00Z' : '',
    catalog_write: 4_812,
    splunk_version: '0.1.0',
    started: '2026-11-28T14:20:00Z',
    local_acks: true,
    active_bundle_id: APPS,
  },
});

/** The bundles of a cluster, and a rollback that has mistakes. */
async function withBundles(page) {
  const fulfill = (content) => (route) =>
    route.fulfill({ json: { entry: [{ name: 'manager', content }] } });
  const bundle = { checksum: '5c0e'.repeat(16), by: 'ann' };
  await page.route(
    '**/services/cluster/manager/info?*',
    fulfill({
      active_bundle: { ...bundle, apps: ['shop', 'till'], timestamp: 1_795_000_000 },
      previous_active_bundle: { ...bundle, apps: ['shop'], timestamp: 1_794_000_000 },
      latest_bundle: { checksum: APPS },
    }),
  );
  await page.route(
    '**/services/cluster/manager/control/default/rollback?*',
    fulfill({
      apps: ['shop'],
      changes: [
        { app: 'shop', added: [], changed: ['default/props.conf'], removed: ['lookups/b.csv'] },
        { app: 'till', added: [], changed: [], removed: ['default/macros.conf'] },
      ],
      ignored: ['apps/shop/default/props.conf:2: EXTRACT-bad: bad regular expression'],
      breaks: [],
      warnings: [],
      not_used: [{ app: 'shop', place: 'default/ui.conf:3', text: 'has no effect' }],
    }),
  );
}

/** Answers as the processes of a cluster do, with the figures of their own events. */
export async function withCluster(page) {
  const entries = (entry) => (route) => route.fulfill({ json: { entry } });
  const manager = '**/services/cluster/manager';
  await page.route(`${manager}/peers?*`, entries(CLUSTER.map(peer)));
  await page.route(`${manager}/status?*`, entries([{ name: 'manager', content: {} }]));
  await page.route(`${manager}/fixup?*`, entries([]));
  const health = { replication_factor_met: true, messages: [] };
  await page.route(`${manager}/health?*`, entries([{ name: 'manager', content: health }]));
  const fields = ['process', 'load', 'cpus', 'fill', 'found', 'read', 'waiting'];
  const rows = CLUSTER.map(({ id: name, role, load }) => {
    const reads = role === 'control-plane' ? 0 : 1_000;
    return [name, load, 4, Math.round(9 * load), reads * (1 - load / 20), reads, 0].map(String);
  });
  await page.route('**/search/v2/jobs', (route) =>
    /metrics\.log/.test(decodeURIComponent(route.request().postData() ?? ''))
      ? route.fulfill({ status: 201, json: { sid: 'figures' } })
      : route.fallback(),
  );
  await page.route('**/search/v2/jobs/figures/results?*', (route) =>
    route.fulfill({ json: { fields, rows, preview: false } }),
  );
}

/** What a list shows that is empty at a server of the tests: path of the page, of the collection, and its objects. */
const LISTS = {
  inputs: [
    '/data/inputs',
    '/services/data/inputs/all',
    {
      'tcp/raw/1514': { index: 'main', sourcetype: 'syslog', host: 'edge-1' },
      'monitor/%2Fvar%2Flog%2Fnginx': { index: 'web', disabled: true },
    },
  ],
  'api-tokens': [
    '/settings/tokens',
    '/services/authorization/tokens',
    { '9f3a': { claims: { sub: 'eve', aud: 'ci', exp: 1_800_000_000 }, status: 'enabled' } },
  ],
  'lookup-files': [
    '/settings/lookups',
    '/servicesNS/-/-/data/lookup-table-files',
    { 'prices.csv': { 'eai:data': 'prices.csv' } },
  ],
  'event-types': [
    '/settings/eventtypes',
    '/servicesNS/-/-/saved/eventtypes',
    { failed_login: { search: 'action=login status>=400', tags: 'authentication', priority: 1 } },
  ],
  tags: [
    '/settings/tags',
    '/servicesNS/-/-/configs/conf-tags',
    { 'host=web-1': { frontend: 'enabled', production: 'enabled' } },
  ],
  'calculated-fields': [
    '/settings/calculated-fields',
    '/servicesNS/-/-/data/props/calcfields',
    { 'nginx : EVAL-ms': { stanza: 'nginx', value: 'round(1000 * request_time)' } },
  ],
  'automatic-lookups': [
    '/settings/automatic-lookups',
    '/servicesNS/-/-/data/props/lookups',
    { 'nginx : LOOKUP-site': { stanza: 'nginx', value: 'hosts ip AS clientip OUTPUT site' } },
  ],
  'field-transforms': [
    '/settings/field-transforms',
    '/servicesNS/-/-/data/transforms/extractions',
    {
      'nginx-pairs': { REGEX: '([\\w.]+)=(\\S+)', FORMAT: '$1::$2' },
      'nginx-columns': { DELIMS: '","', FIELDS: 'client, status, bytes', disabled: true },
    },
  ],
  'field-aliases': [
    '/settings/field-aliases',
    '/servicesNS/-/-/data/props/fieldaliases',
    { 'nginx : FIELDALIAS-cim': { stanza: 'nginx', value: 'clientip AS src_ip' } },
  ],
  'sourcetype-renames': [
    '/settings/sourcetype-renames',
    '/servicesNS/-/-/data/props/sourcetype-rename',
    { 'nginx-plus : rename': { stanza: 'nginx-plus', value: 'nginx' } },
  ],
  'data-models': [
    '/settings/data-models',
    '/servicesNS/-/-/datamodel/model',
    {
      shop: {
        'eai:data': '{"displayName":"Shop","objects":[{"objectName":"Orders"}]}',
        description: 'Orders and payments',
      },
    },
  ],
};

/** The answer of a collection. Names are paths below it; inputs of all kinds are in one list. */
const listOf = (path, objects) => ({
  entry: Object.entries(objects).map(([name, content]) => ({
    name: decodeURIComponent(name.split('/').at(-1)),
    links: { edit: `${path.replace(/\/all$/, '')}/${name}` },
    acl: { app: 'search', owner: 'admin', sharing: 'app', can_write: true, removable: true },
    content,
  })),
});

const lists = (url) =>
  Object.fromEntries(
    Object.entries(LISTS).map(([name, [page, path, objects]]) => [
      name,
      async (shown) => {
        await shown.route(
          (address) => address.pathname === path,
          (route) => route.fulfill({ json: listOf(path, objects) }),
        );
        await shown.goto(url + page);
        await shown.waitForSelector(id('object-row'));
      },
    ]),
  );

const UNDER_WAY = { isDone: false, dispatchState: 'RUNNING', doneProgress: 0.4 };
const NO_ROWS = { eventAvailableCount: 0, resultCount: 0, resultPreviewCount: 0 };

/** The way to each list and state. `at`: the address of a search; `report`: a search with a table, without its pipe. */
export const statesOf = ({ url, at, query, report }) => ({
  ...lists(url),
  async 'cluster-processes'(page) {
    await withCluster(page);
    await page.goto(`${url}/monitor/cluster`);
    await page.locator('[data-figure="Load"]:has-text("of")').first().waitFor();
  },
  async 'bundle-processes'(page) {
    await withCluster(page);
    await withBundles(page);
    await page.goto(`${url}/monitor/bundle`);
    await page
      .locator(`${id('bundle-peers')} tbody tr`)
      .first()
      .waitFor();
    await page.waitForSelector(id('previous-bundle'));
  },
  async 'bundle-rollback'(page) {
    await withCluster(page);
    await withBundles(page);
    await page.goto(`${url}/monitor/bundle`);
    await page.click(id('plan-rollback'));
    await page.waitForSelector(`${id('rollback-form')} [data-finding="ignored"]`);
  },
  async 'search-queued'(page) {
    await withJobs(page, { ...UNDER_WAY, ...NO_ROWS, dispatchState: 'QUEUED', doneProgress: 0 });
    await page.goto(url + at(query));
    await page.waitForSelector(id('queued'));
  },
  async 'search-running'(page) {
    await withJobs(page, { ...UNDER_WAY, ...NO_ROWS });
    await page.goto(url + at(query));
    await page.locator('[aria-label="No events yet"]').waitFor();
  },
  async 'search-preview'(page) {
    await withJobs(page, UNDER_WAY);
    await change(page, '**/results_preview?*', (json) => ({ ...json, preview: true }));
    await page.goto(url + at(report));
    await page.waitForSelector(id('preview'));
    await page.waitForSelector(`${id('statistics-table')} tbody tr`);
  },
  async 'search-paused'(page) {
    await withJobs(page, { ...UNDER_WAY, isPaused: true });
    await page.goto(url + at(report));
    await page.getByRole('button', { name: 'Resume' }).waitFor();
  },
  async 'search-busy'(page) {
    await page.route('**/search/v2/jobs', (route) =>
      route.request().method() === 'POST' ? route.fulfill(BUSY) : route.fallback(),
    );
    await page.goto(url + at(query));
    await page.waitForSelector(`${id('job')}[data-phase="failed"]`);
    await page.getByRole('button', { name: 'Try again' }).waitFor();
  },
  async 'jobs-stale'(page) {
    await page.goto(`${url}/jobs`);
    await page.waitForSelector(id('job-row'));
    await refuse(page, '**/services/search/jobs?*', BUSY);
    await page.waitForSelector(id('stale'));
  },
  async 'list-failed'(page) {
    await refuse(page, '**/saved/searches?*', BUSY);
    await page.goto(`${url}/app/search/reports`);
    await page.waitForSelector(`${id('failed')}[data-kind="busy"]`);
  },
  async 'list-unreachable'(page) {
    await page.route('**/saved/searches?*', (route) => route.abort('connectionrefused'));
    await page.goto(`${url}/app/search/reports`);
    await page.waitForSelector(`${id('failed')}[data-kind="unreachable"]`);
  },
  async 'list-refused'(page) {
    await refuse(page, '**/services/authentication/users?*', FORBIDDEN);
    await page.goto(`${url}/settings/users`);
    await page.waitForSelector(`${id('failed')}[data-kind="forbidden"]`);
  },
  async 'form-not-allowed'(page) {
    await change(page, '**/services/authentication/current-context?*', (json) => {
      json.entry[0].content.capabilities = ['search'];
      return json;
    });
    await page.goto(`${url}/data/add/paste`);
    await page.waitForSelector(id('not-allowed'));
  },
  async 'session-ended'(page) {
    await page.goto(url + at(report));
    await page.waitForSelector(`${id('job')}[data-phase="done"]`);
    const ended = refusal(401, 'call not properly authenticated');
    await page.route(/\/(services|servicesNS|api)\//, (route) => route.fulfill(ended));
    // A request in the background may have opened the dialog over the button before the click.
    await page.locator(id('run')).dispatchEvent('click');
    await page.waitForSelector('[role="dialog"] input[name="username"]');
  },
});

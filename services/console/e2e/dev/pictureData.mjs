/** Data of the pictures: requests of a web shop, and what a server writes about itself over some days. */

/** Numbers between 0 and 1, the same at every run (mulberry32). */
function numbers(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const HOUR = 3_600;
const PATHS = ['/', '/products', '/search', '/cart', '/login', '/checkout', '/help'];

/** A day of requests, more of them by day than at night. */
export function events() {
  const random = numbers(4);
  const pick = (list) => list[Math.floor(random() * list.length)];
  const weighted = (pairs) => {
    const all = pairs.flatMap(([value, weight]) => Array(weight).fill(value));
    return pick(all);
  };
  const now = Math.floor(Date.now() / 1_000);
  const found = [];
  while (found.length < 6_000) {
    const time = now - Math.floor(random() * 24 * HOUR);
    if (random() > 0.55 + 0.45 * Math.sin((2 * Math.PI * ((time % 86_400) - 7 * HOUR)) / 86_400))
      continue;
    const host = weighted([
      ['web-01', 5],
      ['web-02', 3],
      ['web-03', 2],
    ]);
    const status = weighted([
      [200, 80],
      [302, 8],
      [404, 8],
      [500, host === 'web-03' ? 9 : 3],
    ]);
    const [method, path] = [pick(['GET', 'GET', 'POST']), pick(PATHS)];
    const event = `${method} ${path} status=${status} method=${method} path=${path} bytes=${200 + Math.floor(random() * 8_800)}`;
    found.push({ event, time, host, index: 'gallery', sourcetype: 'gallery' });
  }
  return found;
}

const stampOf = (time) => {
  const [date, clock] = new Date(time * 1_000).toISOString().split('T');
  const [year, month, day] = date.split('-');
  return `${month}-${day}-${year} ${clock.slice(0, 8)}.123 +0000 INFO `;
};

/** Groups of metrics.log about some minutes, with a load that rises and falls. */
function groupsOf(level, minutes) {
  const kb = Math.round(900 * level * minutes);
  const count = (each) => Math.round(each * level * minutes);
  const cpu = (each) => (each * level * minutes).toFixed(2);
  return [
    `thruput, name=index_thruput, instantaneous_eps=${Math.round(60 * level)}, kb=${kb}, ev=${4 * kb}`,
    `per_index_thruput, series="web", kb=${Math.round(kb * 0.7)}, ev=${3 * kb}`,
    `per_index_thruput, series="main", kb=${Math.round(kb * 0.3)}, ev=${kb}`,
    `per_sourcetype_thruput, series="access_combined", kb=${kb}, ev=${4 * kb}`,
    `queue, ingest_pipe=0, name=parsingqueue, max_size_kb=16384, current_size_kb=${Math.round(1_500 * level)}, blocked_s=0`,
    `queue, ingest_pipe=0, name=indexqueue, max_size_kb=16384, current_size_kb=${Math.round(4_000 * level)}, blocked_s=${level > 1.4 ? 0.4 : 0}`,
    `pipeline, ingest_pipe=0, name=indexerpipe, processor=indexer, cpu_seconds=${cpu(9)}, executes=100`,
    `pipeline, ingest_pipe=0, name=typing, processor=regexreplacement, cpu_seconds=${cpu(4)}, executes=100`,
    `visibility, idx="web", ev=${3 * kb}, p50_ms=40, p95_ms=${Math.round(170 * level)}, max_ms=${Math.round(500 * level)}`,
    `buckets, idx="web", hot=2, hot_ev=100, hot_kb=90, stored=40, kb=90000000, ev=300000000`,
    `buckets, idx="main", hot=1, hot_ev=100, hot_kb=90, stored=12, kb=21000000, ev=80000000`,
    `cache, tier=dram, kb=${3 * kb}, reads=500, ms=4, used_kb=90000, capacity_kb=131072`,
    `cache, tier=nvme, kb=${2 * kb}, reads=90, ms=40, capacity_kb=65536`,
    `cache, tier=store, kb=${Math.round(kb / 3)}, reads=12, ms=300, requests=90, retries=0, hedges=1`,
    `store, op=get, requests=${count(900)}, kb=600, errors=0, p50_ms=18, p99_ms=${Math.round(35 * level)}`,
    `store, op=put, requests=${count(60)}, kb=900, errors=0, p50_ms=30, p99_ms=70`,
    `search_concurrency, "system total", active_hist_searches=${Math.round(2 * level)}, active_realtime_searches=0, queued=0, limit=8`,
    `searches, done=12, failed=0, cancelled=0, scanned_ev=${9 * kb}, searched_buckets=30, counted_buckets=4, pruned_buckets=210, p50_ms=90, p95_ms=400, p99_ms=900`,
  ];
}

/** Events of metrics.log and license_usage.log: of the last hours every minute, of the days before every hour. */
export function ownEvents() {
  const random = numbers(9);
  const now = Math.floor(Date.now() / 1_000);
  const times = [];
  for (let at = now - 20 * 86_400; at < now - 6 * HOUR; at += HOUR) times.push(at);
  for (let at = now - 6 * HOUR; at < now; at += 60) times.push(at);
  return times.flatMap((time) => {
    const share = time < now - 6 * HOUR ? 60 : 1;
    const level = 1 + 0.5 * Math.sin((2 * Math.PI * (time % 86_400)) / 86_400) + 0.15 * random();
    const about = (file, text) => ({
      event: stampOf(time) + text,
      time,
      index: '_internal',
      sourcetype: 'splunkd',
      source: `/var/log/splunk/${file}`,
    });
    const usage = (idx, bytes) =>
      about(
        'license_usage.log',
        `LicenseUsage - type=Usage s="/x" st="access_combined" h="web-1" o="" idx="${idx}" i="6D" b=${Math.round(bytes * share * level)}`,
      );
    return [
      ...groupsOf(level, share).map((group) => about('metrics.log', `Metrics - group=${group}`)),
      usage('web', 9_000_000),
      usage('main', 3_500_000),
    ];
  });
}

/** Lines of a log whose events have several lines. */
export const PASTED = `[26/11/2026 10:00:00.125] INFO  checkout user=alice total=49.90
[26/11/2026 10:00:00.310] ERROR payment failed user=bob
java.net.SocketTimeoutException: Read timed out
	at shop.Payment.charge(Payment.java:42)
[26/11/2026 10:00:01.007] INFO  checkout user=carol total=12.00
[26/11/2026 10:00:01.480] WARN  cache worked in 18 ms
`;

/** Made-up web-shop events, the same every time, for looking at the page without a server. */

const HOSTS = ['web-01', 'web-02', 'web-03', 'pay-01', 'db-01'];
const PATHS = [
  '/',
  '/cart',
  '/checkout',
  '/api/items?id=42&sort="price"',
  '/search?q=<b>stone</b>',
];
const STATUS = ['200', '200', '200', '200', '304', '404', '500', '503'];
const LEVELS = ['INFO', 'INFO', 'INFO', 'WARN', 'ERROR'];
const USERS = ['ana', 'bo', 'chen', 'dara', 'eli'];

function generator(seed) {
  let state = seed;
  return () => {
    state = (state * 1664525 + 1013904223) % 4294967296;
    return state / 4294967296;
  };
}

export function makeEvents(count, until) {
  const random = generator(7);
  const pick = (list) => list[Math.floor(random() ** 1.4 * list.length)];
  const events = [];
  let time = until;
  for (let id = count; id > 0; id -= 1) {
    time -= random() * 50 * (1.2 + Math.sin(time / 9000));
    events.push(
      id % 4 === 0 ? jsonEvent(id, time, pick, random) : accessEvent(id, time, pick, random),
    );
  }
  return events;
}

function base(time, host, source, sourcetype) {
  const iso = new Date(time * 1000).toISOString().replace('Z', '+00:00');
  return {
    _time: iso,
    host,
    source,
    sourcetype,
    index: 'main',
    _indextime: String(Math.floor(time) + 1),
  };
}

function accessEvent(id, time, pick, random) {
  const host = pick(HOSTS);
  const fields = {
    clientip: `10.0.${Math.floor(random() * 4)}.${Math.floor(random() * 250)}`,
    method: pick(['GET', 'GET', 'POST']),
    uri: pick(PATHS),
    status: pick(STATUS),
    bytes: String(Math.floor(random() * 40000)),
    latency_ms: (random() ** 3 * 900).toFixed(1),
    level: pick(LEVELS),
    id: String(id),
  };
  const raw =
    `${fields.clientip} - ${pick(USERS)} [${new Date(time * 1000).toISOString()}] ` +
    `"${fields.method} ${fields.uri} HTTP/1.1" ${fields.status} ${fields.bytes} ` +
    `level=${fields.level} latency_ms=${fields.latency_ms} id=${id}` +
    (fields.level === 'ERROR' ? ' error: upstream timed out after 30 s' : '');
  return {
    ...base(time, host, '/var/log/nginx/access.log', 'access_combined'),
    ...fields,
    _raw: raw,
  };
}

function jsonEvent(id, time, pick, random) {
  const host = pick(HOSTS);
  const body = {
    time: new Date(time * 1000).toISOString(),
    level: pick(LEVELS),
    message: pick([
      'order placed',
      'payment declined',
      'error talking to the bank',
      'item restocked',
    ]),
    order: {
      id,
      total: Math.round(random() * 30000) / 100,
      items: [{ sku: `S${id % 17}`, quantity: 1 + (id % 3) }],
    },
    user: pick(USERS),
    ok: random() > 0.1,
  };
  return {
    ...base(time, host, 'http:shop', 'shop:order'),
    level: body.level,
    message: body.message,
    user: body.user,
    'order.id': String(id),
    'order.total': String(body.order.total),
    'order.items{}.sku': [`S${id % 17}`, `S${(id + 5) % 17}`],
    ok: String(body.ok),
    _raw: JSON.stringify(body),
  };
}

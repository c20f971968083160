/**
 * A stand-in for the server while the page is being written: made-up events behind the same
 * addresses. For developers only; nothing here is in `dist`. Serves `dist` at `/` when built.
 *
 *   node e2e/dev/fixture-server.mjs [port]     then log in as admin / changeme
 */

import { createReadStream, existsSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { fileURLToPath } from 'node:url';
import { makeEvents } from './events.mjs';
import { runSearch, summary, timeline } from './search.mjs';

const port = Number(process.argv[2] ?? 8000);
const dist = fileURLToPath(new URL('../../dist', import.meta.url));
const now = Math.floor(Date.now() / 1000);
const EVENTS = makeEvents(3000, now);
const DURATION = 700;
const TYPES = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.svg': 'image/svg+xml',
};
const WORDS = [
  'stats',
  'timechart',
  'top',
  'table',
  'where',
  'eval',
  'search',
  'sort',
  'head',
  'dedup',
];

const sessions = new Set();
const jobs = new Map();

class Refusal extends Error {
  constructor(status, type, text) {
    super(text);
    this.status = status;
    this.type = type;
  }
}

function login(form) {
  if (form.get('username') !== 'admin' || form.get('password') !== 'changeme') {
    throw new Refusal(401, 'WARN', 'Login failed');
  }
  const sessionKey = `key-${sessions.size + 1}`;
  sessions.add(sessionKey);
  return { sessionKey };
}

function createJob(form) {
  const text = form.get('search') ?? '';
  const wrong = /\|\s*(stat|tabel)\b/.exec(text);
  if (wrong) {
    const place = wrong.index + wrong[0].length - wrong[1].length;
    const caret = ' '.repeat(place) + '^'.repeat(wrong[1].length);
    throw new Refusal(
      400,
      'FATAL',
      `unknown command '${wrong[1]}'\n\n  ${text}\n  ${caret}\n\ndid you mean 'stats'?`,
    );
  }
  const sid = `${now}.${jobs.size + 1}`;
  const found = runSearch(EVENTS, text, form.get('earliest_time'), form.get('latest_time'), now);
  jobs.set(sid, { ...found, text, started: Date.now(), stopped: null });
  return { sid };
}

function status(job) {
  const progress = job.stopped ?? Math.min(1, (Date.now() - job.started) / DURATION);
  const isDone = job.stopped !== null || progress === 1;
  const iso = (epoch) => new Date(epoch * 1000).toISOString().replace('Z', '+00:00');
  return {
    dispatchState: isDone ? 'DONE' : 'RUNNING',
    isDone,
    isFailed: false,
    isFinalized: job.stopped !== null,
    doneProgress: progress,
    eventCount: Math.floor(job.events.length * progress),
    scanCount: Math.floor(EVENTS.length * progress),
    eventAvailableCount: job.report ? 0 : Math.floor(job.events.length * progress),
    resultCount: job.report ? job.report.rows.length : Math.floor(job.events.length * progress),
    resultPreviewCount: job.report
      ? job.report.rows.length
      : Math.floor(job.events.length * progress),
    numPreviews: Math.floor(progress * 10),
    runDuration: (progress * DURATION) / 1000,
    earliestTime: iso(job.range.start),
    latestTime: iso(job.range.end),
    reportSearch: job.report?.command ?? null,
    eventIsTruncated: false,
    messages: job.text.includes('warn')
      ? [{ type: 'WARN', text: "The search stopped at the limit 'max_events' of 3,000 events." }]
      : [],
  };
}

function jobAnswer(job, part, query, form) {
  const offset = Number(query.get('offset') ?? 0);
  const count = Number(query.get('count') ?? 100) || Number.POSITIVE_INFINITY;
  const so = status(job);
  const events = job.events.slice(0, so.eventCount);
  const rows = job.report?.rows ?? job.events.map((event) => [event._time, event.host, event._raw]);
  if (part === undefined) return { entry: [{ content: so }] };
  if (part === 'events')
    return { results: events.slice(offset, offset + count), highlighted: job.words };
  if (part === 'timeline') return timeline(events, job.range);
  if (part === 'summary') return summary(events);
  if (part === 'inspector') return inspector(so);
  if (part === 'control') {
    if (form.get('action') === 'finalize') job.stopped = so.doneProgress;
    return { messages: [] };
  }
  return {
    preview: !so.isDone,
    fields: job.report?.fields ?? ['_time', 'host', '_raw'],
    rows: rows.slice(offset, offset + count),
  };
}

function inspector(so) {
  const scan = { buckets_considered: 3, buckets_pruned_by_time: 1, buckets_searched: 2 };
  return {
    inspection: {
      run_duration: so.runDuration,
      phases: [
        { name: 'plan', seconds: 0.001, invocations: 1 },
        {
          name: 'filter',
          seconds: 0.2,
          invocations: 9,
          rows_in: so.scanCount,
          rows_out: so.eventCount,
        },
      ],
      plans: [
        {
          name: 'AggregateExec',
          detail: 'mode=Final, gby=[host]',
          seconds: 0.004,
          rows: so.resultCount,
          inputs: [
            { name: 'BucketScanExec', detail: 'buckets=2', seconds: 0.3, rows: so.eventCount },
          ],
        },
      ],
      reads: {
        dram: { blocks: 4, bytes: 4096 },
        store: { blocks: 1, bytes: 1024 },
        store_requests: 1,
      },
      dollars: 4e-7,
      s3_price_get_per_1000: 0.0004,
      scan: { ...scan, events_scanned: so.scanCount, events_matched: so.eventCount },
      answered_from: [],
    },
  };
}

function complete(query) {
  const text = query.get('text') ?? '';
  const to = Number(query.get('cursor'));
  const word = /\|\s*(\w*)$/.exec(text.slice(0, to))?.[1];
  if (word === undefined) return { suggestions: [] };
  const fitting = WORDS.filter((one) => one.startsWith(word) && one !== word);
  return {
    suggestions: fitting.map((label) => ({
      label,
      detail: 'command',
      insert: `${label} `,
      from: to - word.length,
      to,
    })),
  };
}

function answer(request, url, form) {
  const { pathname, searchParams: query } = url;
  if (pathname === '/services/auth/login') return [200, login(form)];
  if (!sessions.has(request.headers.authorization?.replace('Splunk ', ''))) {
    throw new Refusal(401, 'WARN', 'call not properly authenticated');
  }
  if (pathname === '/services/server/info') {
    return [
      200,
      {
        generator: { version: '0.1.0' },
        entry: [{ content: { version: '0.1.0', serverName: 'fixture' } }],
      },
    ];
  }
  if (pathname === '/api/v1/complete') return [200, complete(query)];
  const match = /^\/services\/search\/v2\/jobs(?:\/([^/]+)(?:\/(\w+))?)?$/.exec(pathname);
  if (!match) throw new Refusal(404, 'ERROR', 'Not Found');
  if (match[1] === undefined) return [201, createJob(form)];
  const job = jobs.get(decodeURIComponent(match[1]));
  if (!job) throw new Refusal(404, 'FATAL', 'Unknown sid.');
  return [200, jobAnswer(job, match[2], query, form)];
}

function serveFile(pathname, response) {
  const wanted = join(dist, normalize(pathname));
  const file = existsSync(wanted) && statSync(wanted).isFile() ? wanted : join(dist, 'index.html');
  response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' });
  createReadStream(file).pipe(response);
}

createServer(async (request, response) => {
  const url = new URL(request.url, 'http://local');
  if (!/^\/(services|api)\//.test(url.pathname)) return serveFile(url.pathname, response);
  let body = '';
  for await (const chunk of request) body += chunk;
  let code;
  let content;
  try {
    [code, content] = answer(request, url, new URLSearchParams(body));
  } catch (error) {
    code = error.status ?? 500;
    content = { messages: [{ type: error.type ?? 'ERROR', text: error.message }] };
  }
  response.writeHead(code, { 'content-type': 'application/json' });
  response.end(JSON.stringify(content));
}).listen(port, '127.0.0.1', () => console.log(`fixture server on http://127.0.0.1:${port}`));

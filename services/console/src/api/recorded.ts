/** Answers in the server's shapes, for tests only. */

export const DIAGNOSTIC = [
  "unknown command 'stat'",
  '',
  '  search error | stat count',
  '                 ^^^^',
  "  did you mean 'stats'?",
].join('\n');

const JOB = {
  entry: [
    {
      name: 'search error',
      content: {
        sid: 'S1',
        dispatchState: 'RUNNING',
        isDone: false,
        isFailed: false,
        doneProgress: 0.5,
        eventCount: 1200,
        scanCount: '40000',
        resultCount: 1200,
        runDuration: 0.42,
        earliestTime: '2026-11-20T20:00:00.000+00:00',
        latestTime: '2026-11-20T21:00:00.000+00:00',
        reportSearch: null,
        eventIsTruncated: false,
        messages: [{ type: 'warn', text: 'limit reached' }],
      },
    },
  ],
};

const EVENTS = {
  preview: false,
  results: [
    {
      _raw: 'ERROR in checkout',
      _time: '2026-11-20T20:59:59.123+00:00',
      host: 'web-01',
      tag: ['a', 'b'],
    },
  ],
  highlighted: ['error'],
};

const ROWS = {
  preview: false,
  fields: ['host', 'count', 'users'],
  rows: [
    ['web-01', '12', ['a', 'b']],
    ['', '3', null],
  ],
};

const TIMELINE = {
  event_count: 7,
  buckets: [
    { earliest_time: 1060, duration: 60, total_count: 5, available_count: 5 },
    { earliest_time: 1000, duration: 60, total_count: 2, available_count: 2 },
  ],
};

const SUMMARY = {
  event_count: 9,
  fields: {
    host: {
      count: 7,
      distinct_count: 2,
      is_exact: false,
      numeric_count: 0,
      modes: [{ value: 'web-01', count: 5 }],
    },
  },
};

const INSPECTOR = {
  sid: 'S1',
  inspection: {
    run_duration: 0.42,
    phases: [
      { name: 'plan', seconds: 0.002, invocations: 1, rows_in: null, rows_out: null },
      { name: 'filter', seconds: 0.3, invocations: 12, rows_in: 900, rows_out: 30 },
    ],
    plans: [
      {
        name: 'AggregateExec',
        detail: 'mode=Final',
        partitions: 2,
        seconds: 0.01,
        rows: 3,
        spills: 1,
        spilled_bytes: 4096,
        inputs: [{ name: 'BucketScanExec', detail: 'buckets=4', partitions: 2, seconds: 0.4 }],
      },
    ],
    reads: {
      dram: { blocks: 7, bytes: 7168, seconds: 0.001 },
      nvme: { blocks: 0, bytes: 0, seconds: 0 },
      store: { blocks: 2, bytes: 2048, seconds: 0.1 },
      store_requests: 2,
    },
    dollars: 8e-7,
    s3_price_get_per_1000: 0.0004,
    scan: { buckets_considered: 9, buckets_searched: 4, pruned_by: ['[ AND error 500 ]'] },
    answered_from: ['answered from summaries: 3 of 9 buckets'],
  },
};

const ok = (body: unknown, status = 200) => ({ status, body: JSON.stringify(body) });
const job = '/services/search/v2/jobs';

export const ANSWERS: Record<string, { status: number; body: string }> = {
  'POST /services/auth/login': ok({ sessionKey: 'KEY-1' }),
  [`POST ${job}`]: ok({ sid: 'S1' }, 201),
  [`GET ${job}/S1`]: ok(JOB),
  [`POST ${job}/S1/control`]: ok({ messages: [{ type: 'INFO', text: 'Search job finalized.' }] }),
  [`GET ${job}/S1/events`]: ok(EVENTS),
  [`GET ${job}/S1/results`]: ok(ROWS),
  [`GET ${job}/S1/timeline`]: ok(TIMELINE),
  [`GET ${job}/S1/summary`]: ok(SUMMARY),
  [`GET ${job}/S1/inspector`]: ok(INSPECTOR),
};

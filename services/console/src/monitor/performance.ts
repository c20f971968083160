/** `/monitor/performance`: is the server well, and if not, where it is slow. Over the product's own events. */

import { OWN_SEARCHES, type Page, type Panel } from './panels';

const METRICS = 'index=_internal source=*metrics.log* host=$node$';
const SEARCHES =
  'index=_audit action=search info=completed host=$node$ | fillnull value=unknown kind | search kind=$kind$';
const HOST = 'index=_introspection host=$node$';

const NO_METRICS =
  'Events of metrics.log are written every 30 seconds to _internal, unless limits.conf [metrics] disables them.';
const NO_STORE = 'Requests to object storage are counted for S3 only.';
const NO_HOST =
  'Use of the machine is written to _introspection on Linux, unless server.conf [introspection:generator:resource_usage] disables it.';

const SCHEDULER = 'index=_internal source=*scheduler.log* host=$node$';
const NO_SCHEDULER =
  'No scheduled search has run in the range, or this server has no scheduler that writes scheduler.log.';

const line = (title: string, search: string, more: Partial<Panel> = {}): Panel => ({
  title,
  kind: 'line',
  search,
  reason: NO_METRICS,
  ...more,
});

const single = (title: string, search: string, more: Partial<Panel>): Panel => ({
  title,
  kind: 'single',
  search,
  reason: NO_METRICS,
  ...more,
  options: { numberPrecision: '0.0', useThousandSeparators: '1', height: '96', ...more.options },
});

export const PERFORMANCE: Page = {
  label: 'Performance',
  about: 'Own events of the server, by its searches',
  span: ['-4h', 'now'],
  indexes: ['_internal', '_audit'],
  tokens: {},
  inputs: [
    {
      token: 'node',
      label: 'Node',
      initial: '*',
      choices: { '*': 'All nodes' },
      search: '| tstats count where index=_internal by host | sort host',
      field: 'host',
    },
    {
      token: 'series',
      label: 'Ingest by',
      initial: 'per_index_thruput',
      choices: {
        per_index_thruput: 'index',
        per_sourcetype_thruput: 'source type',
        per_host_thruput: 'host',
        per_source_thruput: 'source',
      },
    },
    {
      token: 'kind',
      label: 'Searches',
      initial: '*',
      choices: {
        '*': 'All kinds',
        dense: 'dense: 10 % of the events match',
        sparse: 'sparse',
        'super-sparse': 'super-sparse',
        rare: 'rare: few buckets are read',
        none: 'nothing is scanned',
      },
    },
    OWN_SEARCHES,
  ],
  rows: [
    [
      single(
        'Events in',
        `${METRICS} group=thruput name=index_thruput | bin _time span=1m | stats avg(instantaneous_eps) AS eps BY _time host | timechart span=1m sum(eps) AS eps`,
        { options: { unit: '/s', underLabel: 'events, the last minute' } },
      ),
      single(
        'Fullest queue',
        `${METRICS} group=queue | eval fill=exact(100*current_size_kb/max_size_kb) | stats max(fill) AS fill`,
        {
          thresholds: [60, 90],
          options: {
            unit: '%',
            numberPrecision: '0',
            underLabel: 'amber above 60, red above 90 %',
          },
        },
      ),
      single('Visibility lag', `${METRICS} group=visibility | stats perc95(p95_ms) AS ms`, {
        thresholds: [2_000, 10_000],
        options: {
          unit: 'ms',
          numberPrecision: '0',
          underLabel: '95 %; amber above 2, red above 10 s',
        },
      }),
      single('Search time', `${SEARCHES} | stats perc95(total_run_time) AS s`, {
        thresholds: [5, 30],
        reason: 'No search has ended in the range.',
        options: {
          unit: 's',
          numberPrecision: '0.00',
          underLabel: '95 %; amber above 5, red above 30 s',
        },
      }),
      single(
        'Failed searches',
        'index=_audit action=search host=$node$ (info=failed OR info=completed) | stats sum(eval(if(info="failed",1,0))) AS n count AS c | eval part=exact(100*n/c) | fields part',
        {
          thresholds: [5, 20],
          reason: 'No search has ended in the range.',
          options: { unit: '%', underLabel: 'amber above 5, red above 20 %' },
        },
      ),
      single(
        'Errors in the log',
        'index=_internal host=$node$ (source=*karst.log level=ERROR) | stats count',
        {
          thresholds: [1, 10],
          options: { numberPrecision: '0', underLabel: 'amber above 1, red above 10' },
        },
      ),
    ],
    [
      line('Ingest, KB', `${METRICS} group=$series$ | timechart sum(kb) BY series`, {
        kind: 'area',
      }),
      line('Ingest, events', `${METRICS} group=$series$ | timechart sum(ev) BY series`, {
        kind: 'area',
      }),
    ],
    [
      line(
        'Queue fill, %',
        `${METRICS} group=queue | eval fill=exact(100*current_size_kb/max_size_kb) | timechart perc95(fill) BY name`,
        { options: { 'charting.axisY.maximumNumber': '100', 'charting.axisY.minimumNumber': '0' } },
      ),
      line(
        'Seconds that writers waited for queues',
        `${METRICS} group=queue | timechart sum(blocked_s) BY name`,
        { kind: 'column', options: { 'charting.chart.stackMode': 'stacked' } },
      ),
    ],
    [
      line(
        'CPU seconds of the stages of ingest',
        `${METRICS} group=pipeline | timechart sum(cpu_seconds) BY processor`,
        { kind: 'area', reason: `${NO_METRICS} CPU time of stages is measured on Linux.` },
      ),
      line(
        'Visibility lag, ms: from arrival to searchable',
        `${METRICS} group=visibility | timechart perc95(p95_ms) AS "95 %" max(max_ms) AS longest`,
      ),
    ],
    [
      line(
        'Uploads that wait, and the spool',
        `${METRICS} group=uploads | timechart max(waiting) AS "buckets waiting" max(spool_buckets) AS "buckets in the spool"`,
      ),
      line(
        'Journal, MB on disk',
        `${METRICS} group=journal | timechart max(eval(kb/1024)) AS MB BY host`,
        { kind: 'area' },
      ),
      line(
        'Journal: ms of a sync (99 %), seconds without intake',
        `${METRICS} group=journal | timechart max(p99_ms) AS "sync ms" sum(intake_stopped_s) AS "stopped s"`,
      ),
    ],
    [
      line('Read by tier, MB', `${METRICS} group=cache | timechart sum(eval(kb/1024)) BY tier`, {
        kind: 'area',
      }),
      line(
        'Cache hits, % of KB',
        `${METRICS} group=cache | timechart sum(kb) AS all sum(eval(if(tier="store",kb,0))) AS store | eval hits=if(all>0,100*(1-store/all),null()) | fields _time hits`,
        { options: { 'charting.axisY.maximumNumber': '100', 'charting.axisY.minimumNumber': '0' } },
      ),
      line(
        'Seconds waited by tier',
        `${METRICS} group=cache | timechart sum(eval(ms/1000)) BY tier`,
        {
          kind: 'column',
          options: { 'charting.chart.stackMode': 'stacked' },
        },
      ),
    ],
    [
      line(
        'Object storage: ms of a request (99 %)',
        `${METRICS} group=store | timechart max(p99_ms) BY op`,
        {
          reason: NO_STORE,
        },
      ),
      line(
        'Object storage: errors, retries, hedges',
        `${METRICS} (group=store OR (group=cache tier=store)) | timechart sum(errors) AS errors sum(retries) AS retries sum(hedges) AS hedges`,
        { kind: 'column', reason: NO_STORE },
      ),
    ],
    [
      line(
        'Search time, s',
        `${SEARCHES} | timechart median(total_run_time) AS "50 %" perc95(total_run_time) AS "95 %" perc99(total_run_time) AS "99 %"`,
        { reason: 'No search has ended in the range.' },
      ),
      line(
        'Search time by kind, s (95 %)',
        `${SEARCHES} | timechart perc95(total_run_time) BY kind`,
        {
          reason: 'No search has ended in the range.',
        },
      ),
    ],
    [
      {
        title: 'Where search time goes, s',
        kind: 'bar',
        search: `${SEARCHES} | stats sum(queue_s) AS queue sum(plan_s) AS planning sum(read_s) AS "waiting for bytes" sum(cpu_s) AS computing | transpose column_name=phase | rename "row 1" AS seconds | where isnotnull(seconds)`,
        reason:
          'The records of finished searches in _audit have no phases: this server does not write them.',
        options: { 'charting.legend.placement': 'none' },
      },
      line(
        'Concurrent searches, and the limit',
        `${METRICS} group=search_concurrency "system total" | timechart max(active_hist_searches) AS running max(queued) AS queued max(limit) AS limit`,
      ),
      {
        title: 'Pruning: buckets left out and read',
        kind: 'column',
        search: `${SEARCHES} | stats sum(eliminated_buckets) AS "left out" sum(searched_buckets) AS read BY kind | where isnotnull('left out')`,
        reason:
          'The records of finished searches in _audit have no buckets: this server does not write them.',
        options: { 'charting.chart.stackMode': 'stacked' },
      },
    ],
    [
      {
        title: 'Slowest and most frequent searches, by pattern',
        about:
          'Numbers and quoted texts are one: ?. A click opens the inspector of the latest job.',
        kind: 'table',
        search: `${SEARCHES} $own$ | eval pattern=replace(search,"\\"[^\\"]*\\"|\\d+","?") | stats count perc95(total_run_time) AS most sum(total_run_time) AS run sum(cpu_s) AS cpu latest(search_id) AS latest BY pattern | sort - run | head 50 | eval run=round(run,2), most=round(most,2), cpu=round(cpu,2) | rename pattern AS Search count AS Runs most AS "Run time, 95 % (s)" run AS "Run time, all (s)" cpu AS "CPU (s)"`,
        reason: 'No search has ended in the range.',
        link: '/jobs/$row.latest$/inspect',
        fields: ['Search', 'Runs', 'Run time, 95 % (s)', 'Run time, all (s)', 'CPU (s)'],
      },
    ],
    [
      line('Buckets in object storage', `${METRICS} group=buckets | timechart max(stored) BY idx`, {
        kind: 'area',
      }),
      line(
        'Merges and garbage',
        `${METRICS} group=catalog | timechart sum(merged_buckets) AS "merged buckets" max(garbage) AS "objects to delete"`,
      ),
      line(
        'Catalog: ms of a commit (99 %)',
        `${METRICS} group=catalog | timechart max(p99_ms) AS ms`,
      ),
    ],
    [
      line(
        'CPU of the machine, %',
        `${HOST} component=Hostwide | timechart avg(data.cpu_user_pct) AS user avg(data.cpu_system_pct) AS system avg(data.cpu_iowait_pct) AS "waiting for disks"`,
        { kind: 'area', reason: NO_HOST },
      ),
      line(
        'Memory, MB',
        `${HOST} (component=Hostwide OR (component=PerProcess data.process_type=splunkd_server)) | timechart avg(eval(if(component="Hostwide",'data.mem_used',null()))) AS machine avg(eval(if(component="PerProcess",'data.mem_used',null()))) AS server`,
        { reason: NO_HOST },
      ),
      line(
        'Free disk, GB',
        `${HOST} component=Partitions | timechart min(eval('data.available'/1024)) AS GB BY data.mount_point`,
        { reason: NO_HOST },
      ),
    ],
    [
      {
        title: 'Requests by route',
        kind: 'table',
        search: `${METRICS} group=http | stats sum(requests) AS requests sum(errors) AS errors max(p99_ms) AS most BY port route | sort - requests | rename port AS Port route AS Route requests AS Requests errors AS Errors most AS "Time, 99 % (ms)"`,
        reason: NO_METRICS,
      },
      {
        title: 'What changed',
        about: 'Starts and changes of configuration',
        kind: 'table',
        search:
          'index=_audit host=$node$ info=succeeded (action=server_start OR action=restart* OR action=create_* OR action=edit_* OR action=remove_*) action!=*search_job | table _time user action object | rename user AS User action AS Action object AS Object',
        reason: 'Nothing was changed in the range.',
      },
    ],
    [
      {
        title: 'Scheduled searches by outcome',
        kind: 'column',
        search: `${SCHEDULER} | timechart count BY status`,
        reason: NO_SCHEDULER,
        options: { 'charting.chart.stackMode': 'stacked' },
      },
      {
        title: 'Scheduled searches: seconds late',
        kind: 'line',
        search: `${SCHEDULER} | eval late=exact(dispatch_time-scheduled_time) | timechart perc95(late) AS "95 %" max(late) AS latest`,
        reason: NO_SCHEDULER,
      },
      {
        title: 'Skipped, by reason',
        kind: 'table',
        search: `${SCHEDULER} status=skipped | stats count latest(savedsearch_name) AS last BY reason | sort - count | rename reason AS Reason count AS Skipped last AS "Last report"`,
        reason: NO_SCHEDULER,
      },
    ],
    [
      line(
        'Copies of journals: ms until confirmed (99 %), failures',
        `${METRICS} group=replicas | timechart max(p99_ms) AS "confirmed ms" sum(failures) AS failures`,
        {
          reason:
            'Copies of journals on other indexers are measured (group=replicas) in a cluster that has them.',
        },
      ),
      {
        title: 'Replication of buckets',
        missing:
          'object storage keeps the copies of buckets, and metrics.log has no group for them.',
      },
      {
        title: 'Alerts on the thresholds above',
        missing:
          'the reports "Monitor: …" have them, disabled; there is no scheduler yet that would run them.',
      },
    ],
  ],
};

/** `/monitor/cost`: what ingest, storage and searches cost, by the prices of the page. Over the product's own events. */

import { OWN_SEARCHES, type Page, type Panel } from './panels';

const METRICS = 'index=_internal source=*metrics.log*';
const USAGE = 'index=_internal source=*license_usage.log* type=Usage';
const SEARCHES = 'index=_audit action=search info=completed user=$user$ app=$app$';

const NO_METRICS =
  'Events of metrics.log are written every 30 seconds to _internal, unless limits.conf [metrics] disables them.';
const NO_USAGE = 'Nothing was indexed in the range, or limits.conf [metrics] disables own events.';
const NO_COST =
  'The records of finished searches in _audit have no cost: this server does not write it.';

/**
 * What a search cost: requests, computing, bytes from object storage. Dollars are computed in `exact()`: without
 * it, a sum has the decimals of its least precise term, a product the digits of the price, and small costs are 0.
 */
const SEARCH_USD =
  'eval usd=exact(coalesce(store_requests,0)/1000*$price_get$+coalesce(cpu_s,0)/3600*$price_cpu_hour$+coalesce(kb_store,0)/1048576*$price_transfer_gb$) | where isnotnull(cpu_s)';

/** Cost, number and run time of searches by a field, the most expensive first. */
const byField = (field: string, title: string) =>
  `${SEARCH_USD} | stats sum(usd) AS usd count perc95(total_run_time) AS run BY ${field} | sort - usd | eval run=round(run,2) | rename ${field} AS ${title} usd AS Cost count AS Searches run AS "Run time, 95 % (s)"`;

/**
 * What searches cost by the indexes that they read, as the audit trail names them, and the time of the last one
 * that no page of this area ran: `idx`, `searched`, `searches`, `last`.
 */
const SEARCHED = `search index=_audit action=search info=completed index_count>0 | ${SEARCH_USD} | eval usd=exact(usd/index_count), other=if(like(provenance,"UI:Monitor:%"),null(),_time), idx=split(indexes,",") | mvexpand idx | stats sum(usd) AS searched count AS searches max(other) AS last BY idx`;

/**
 * Names of indexes that searches read, by the audit trail, or that their texts name: it has neither the indexes of
 * subsearches nor those of SQL. `series`, and `most`: the largest number of indexes that one search read.
 */
const READ = [
  'search index=_audit (action=search OR action=sql) (index_count>0 OR info=completed) NOT provenance="UI:Monitor:*"',
  '| rex field=search max_match=20 "(?i)(?:\\bindex\\s*=|\\b(?:from|join)\\s)\\s*\\"?(?<named>[\\w-]+)"',
  '| eval series=mvdedup(mvappend(split(indexes,","),named)) | mvexpand series | stats count AS searches max(index_count) AS most BY series',
].join(' ');

/**
 * Dollars of ingest by index: the computing of all stages, divided by the bytes that each index received. `idx`,
 * `ingest`.
 */
const INGESTED = `search ${METRICS} (group=pipeline OR group=per_index_thruput) | eval idx=coalesce(series,"all") | stats sum(cpu_seconds) AS cpu sum(kb) AS kb BY idx group | eventstats sum(cpu) AS whole_cpu sum(kb) AS whole_kb | where group="per_index_thruput" | eval ingest=exact(kb/whole_kb*whole_cpu/3600*$price_cpu_hour$) | fields idx ingest`;

/** What is stored by index, and its dollars by the hours of the range and a month: `idx`, `stored`, `kept`, `month`. */
const STORED = `search ${METRICS} group=buckets | bin _time span=1h | stats latest(kb) AS kb BY _time idx | stats latest(kb) AS kb sum(kb) AS hours BY idx | eval stored=round(kb/1048576,3), kept=exact(hours/1048576*$price_gb_month$/730), month=exact(kb/1048576*$price_gb_month$) | fields idx stored kept month`;

/** Dollars by day and component: `_time`, `component`, `usd`. */
const DAYS = [
  `${METRICS} group=pipeline | bin _time span=1d | stats sum(cpu_seconds) AS q BY _time | eval component="ingest compute", usd=exact(q/3600*$price_cpu_hour$)`,
  `| append [search index=_audit action=search info=completed | bin _time span=1d | stats sum(cpu_s) AS q BY _time | where isnotnull(q) | eval component="search compute", usd=exact(q/3600*$price_cpu_hour$)]`,
  `| append [search ${METRICS} group=store | eval usd=exact(requests/1000*if(op="put" OR op="post" OR op="list",$price_put$,if(op="delete",0,$price_get$))) | bin _time span=1d | stats sum(usd) AS usd BY _time | eval component="requests"]`,
  `| append [search ${METRICS} group=buckets | bin _time span=1h | stats latest(kb) AS kb BY _time idx | stats sum(kb) AS kb BY _time | eval usd=exact(kb/1048576*$price_gb_month$/730) | bin _time span=1d | stats sum(usd) AS usd BY _time | eval component="storage"]`,
  `| append [search ${METRICS} group=cache tier=store | bin _time span=1d | stats sum(kb) AS kb BY _time | eval component="transfer", usd=exact(kb/1048576*$price_transfer_gb$)]`,
].join(' ');

/** Sampled lookups below which the estimates of other sizes of the cache are not shown. */
const LEAST_SAMPLES = 500;

/**
 * Requests and dollars a month by the size of the cache of each process, at the rate of the range. Only sizes that
 * all processes estimated all the time: others have fewer reads. The size nearest to the present one is apart.
 */
const CURVE = [
  `${METRICS} group=cache_curve | stats sum(reads) AS reads sum(samples) AS samples sum(store_requests) AS requests sum(kb) AS kb dc(host) AS hosts latest(capacity_mb) AS present min(_time) AS first BY size_mb`,
  `| eventstats max(reads) AS most | where reads=most AND samples>=${LEAST_SAMPLES}`,
  '| addinfo | eval until=if(isnum(info_max_time) AND info_max_time<now(),info_max_time,now()), months=exact(max(3600,until-first)/2592000), requests=exact(requests/months), usd=exact(requests/1000*$price_get$+kb/months/1048576*$price_transfer_gb$+size_mb/1024*hosts*$price_disk_gb_month$)',
  '| eval off=abs(size_mb-present) | eventstats min(off) AS least | eval now=if(off=least,requests,null()), other=if(off=least,null(),requests)',
  '| sort 0 size_mb | eval size=case(size_mb<1024,size_mb." MB",size_mb%1024=0,(size_mb/1024)." GB",true(),round(size_mb/1024,1)." GB")',
  '| fields size other now usd | rename size AS "Size of the cache" other AS Requests now AS "Requests at the present size" usd AS Dollars',
].join(' ');

const money = (title: string, search: string, more: Partial<Panel> = {}): Panel => ({
  title,
  kind: 'single',
  search,
  reason: NO_METRICS,
  ...more,
  options: {
    'karst.money': '1',
    height: '96',
    ...more.options,
  },
});

const table = (title: string, search: string, more: Partial<Panel> = {}): Panel => ({
  title,
  kind: 'table',
  search,
  ...more,
});

const MONTH = { earliest: '@mon', latest: 'now' };

export const COST: Page = {
  label: 'Cost',
  about: 'Own events of the server, by its searches and the prices of the page',
  span: ['-30d@d', 'now'],
  indexes: ['_internal', '_audit'],
  tokens: {},
  inputs: [
    {
      token: 'user',
      label: 'User',
      initial: '*',
      choices: { '*': 'All users' },
      search: 'index=_audit action=search info=completed | stats count BY user | sort user',
      field: 'user',
    },
    {
      token: 'app',
      label: 'App',
      initial: '*',
      choices: { '*': 'All apps' },
      search: 'index=_audit action=search info=completed | stats count BY app | sort app',
      field: 'app',
    },
    {
      token: 'keep',
      label: 'Retention tried',
      initial: '90',
      choices: {
        '7': '7 days',
        '30': '30 days',
        '90': '90 days',
        '365': '1 year',
        '730': '2 years',
      },
    },
    OWN_SEARCHES,
    { token: 'tariff', label: 'Tariff of another product, $ per GB/day and year', initial: '' },
  ],
  rows: [
    [
      money('Spent this month', `${DAYS} | stats sum(usd) AS usd`, MONTH),
      money(
        'Run rate, the month',
        `${DAYS} | stats sum(usd) AS usd | addinfo | eval usd=exact(usd/(now()-info_min_time)*(relative_time(now(),"+1mon@mon")-relative_time(now(),"@mon"))) | fields usd`,
        { ...MONTH, about: 'Spent, by the elapsed part of the month' },
      ),
      money(
        'Total cost, per GB ingested',
        `${DAYS} | stats sum(usd) AS usd | appendcols [search ${USAGE} | stats sum(b) AS b] | eval usd=exact(if(b>0,usd/(b/1073741824),null())) | fields usd | where isnotnull(usd)`,
        { reason: NO_USAGE },
      ),
      money(
        'Ingest alone, per GB',
        `${METRICS} group=pipeline | stats sum(cpu_seconds) AS q | appendcols [search ${USAGE} | stats sum(b) AS b] | eval usd=exact(if(b>0,q/3600*$price_cpu_hour$/(b/1073741824),null())) | fields usd | where isnotnull(usd)`,
        { reason: NO_USAGE },
      ),
    ],
    [
      {
        title: 'By component, $ a day',
        kind: 'column',
        search: `${DAYS} | timechart span=1d sum(usd) BY component`,
        reason: NO_METRICS,
        options: { 'charting.chart.stackMode': 'stacked' },
      },
      {
        title: 'Ingested, GB a day by index',
        kind: 'column',
        search: `${USAGE} | timechart span=1d sum(eval(b/1073741824)) BY idx`,
        reason: NO_USAGE,
        options: { 'charting.chart.stackMode': 'stacked' },
      },
    ],
    [
      {
        title: 'Forecast, $ a day',
        about:
          'The days of the range and the 31 after them, with 95 % bounds; the current day is not included',
        kind: 'line',
        search: `${DAYS} | where _time<relative_time(now(),"@d") | timechart span=1d sum(usd) AS usd | eventstats count(usd) AS n | where n>2 | fields - n | predict usd future_timespan=31`,
        reason: 'A forecast needs own events of at least three whole days.',
      },
    ],
    [
      table(
        'By index',
        `${USAGE} | stats sum(b) AS b min(_time) AS first BY idx | eval gb=exact(b/1073741824), day=round(gb/max(1,(now()-first)/86400),3) | fields idx gb day | append [${INGESTED}] | append [${STORED}] | append [${SEARCHED}] | stats max(gb) AS gb max(day) AS day max(ingest) AS ingest max(stored) AS stored max(kept) AS kept max(month) AS month max(searched) AS searched max(searches) AS searches max(last) AS last BY idx | eval per_gb=exact(if(gb>0,(coalesce(ingest,0)+coalesce(kept,0)+coalesce(searched,0))/gb,null())), last=strftime(last,"%Y-%m-%d %H:%M") | sort 0 - day | table idx day ingest stored month searches searched last per_gb | rename idx AS Index day AS "Ingested (GB a day)" ingest AS "Ingest in the range" stored AS "Stored (GB)" month AS "Storage a month" searches AS Searches searched AS "Searches in the range" last AS "Last searched" per_gb AS "Total per GB"`,
        {
          about:
            'Ingest computing by bytes received; a search by its indexes in equal parts, without those of subsearches. Total per GB: ingest, storage and searches of the range by the GB ingested in it',
          reason: NO_USAGE,
          money: [
            'Ingest in the range',
            'Storage a month',
            'Searches in the range',
            'Total per GB',
          ],
        },
      ),
      {
        title: 'Requests to object storage by operation',
        kind: 'column',
        search: `${METRICS} group=store | timechart span=1d sum(requests) BY op`,
        reason: 'Requests are counted for S3 only.',
        options: { 'charting.chart.stackMode': 'stacked' },
      },
    ],
    [
      table('By user', `${SEARCHES} | ${byField('user', 'User')}`, {
        reason: NO_COST,
        money: ['Cost'],
      }),
      table('By app', `${SEARCHES} | ${byField('app', 'App')}`, {
        reason: NO_COST,
        money: ['Cost'],
      }),
      table(
        'By report',
        `${SEARCHES} savedsearch_name=* | ${byField('savedsearch_name', 'Report')}`,
        { reason: `No report has run in the range. ${NO_COST}`, money: ['Cost'] },
      ),
    ],
    [
      table(
        'Most expensive searches',
        `${SEARCHES} $own$ | ${SEARCH_USD} | eval why=mvappend(if(api_et="N/A" OR api_et="0","no time range",null()), if(match(search,"[=\\\\s]\\\\*\\\\w"),"leading wildcard",null()), if(searched_buckets>100,searched_buckets." buckets read",null()), if(kb_store>1048576,round(kb_store/1048576,1)." GB from object storage",null())) | sort 50 - usd | eval why=mvjoin(why,", "), mb=round(kb_store/1024,1) | table usd total_run_time mb searched_buckets why user search search_id | rename usd AS Cost total_run_time AS "Run time (s)" mb AS "From object storage (MB)" searched_buckets AS "Buckets read" why AS Remarks user AS User search AS Search`,
        {
          reason: NO_COST,
          link: '/jobs/$row.search_id$/inspect',
          fields: [
            'Cost',
            'Run time (s)',
            'From object storage (MB)',
            'Buckets read',
            'Remarks',
            'User',
            'Search',
          ],
          money: ['Cost'],
          about: 'A click opens the job inspector, while the job is kept.',
        },
      ),
    ],
    [
      {
        title: 'Stored by age, MB',
        about: 'The newest event of a bucket is younger than this number of days',
        kind: 'column',
        search:
          '| dbinspect index=* index=_* | eval age=max(0,ceiling(ln(max(1,(now()-endEpoch)/86400))/ln(2))) | stats sum(sizeOnDiskMB) AS MB BY age index | eval age=pow(2,age) | chart sum(MB) OVER age BY index',
        reason: 'There are no buckets in object storage yet.',
        options: { 'charting.chart.stackMode': 'stacked' },
      },
      table(
        'What the tried retention would save',
        '| dbinspect index=* index=_* | eval age=(now()-endEpoch)/86400, old=if(age>$keep$,sizeOnDiskMB,0) | stats sum(sizeOnDiskMB) AS MB sum(old) AS "MB older" BY index | eval saved=exact(\'MB older\'/1024*$price_gb_month$) | sort - "MB older" | rename index AS Index MB AS "Stored (MB)" "MB older" AS "Older (MB)" saved AS "Saved a month"',
        { reason: 'There are no buckets in object storage yet.', money: ['Saved a month'] },
      ),
    ],
    [
      table(
        'Waste: indexes that nobody searches',
        `${METRICS} group=per_index_thruput NOT series=_* | stats sum(kb) AS kb BY series | append [${READ}] | stats sum(kb) AS KB sum(searches) AS searches max(most) AS most BY series | eventstats max(most) AS most | where isnotnull(KB) AND isnull(searches) AND coalesce(most,0)<=100 | sort 0 - KB | eval KB=round(KB) | table series KB | rename series AS Index KB AS "Received (KB)"`,
        {
          about:
            'Indexes that no search of the range read, also by index=*, a macro, a data model or default indexes. Of subsearches and SQL, only names after index=, FROM and JOIN are found: an index that they read otherwise is listed. Searches by Monitor do not count.',
          reason:
            'Every index that received events was searched, or a search read more than 100 indexes, of which the audit trail names 100.',
        },
      ),
      money(
        'The tariff of another product, a year',
        `${USAGE} | stats sum(b) AS b min(_time) AS first | eval usd=exact(b/1073741824/max(1,(now()-first)/86400)*$tariff$) | fields usd`,
        {
          about: 'GB a day as measured, times the tariff typed above. No tariff is given here.',
          reason: NO_USAGE,
        },
      ),
    ],
    [
      {
        title: 'Cache what-if: requests and $ a month by size of the cache',
        about:
          'If the cache of each process had another size, at the rate of the range. Estimated from sampled lookups, as the larger of DRAM and NVMe',
        kind: 'column',
        search: CURVE,
        reason: `There are fewer than ${LEAST_SAMPLES} sampled lookups in the range. At most one of sixteen blocks is sampled when searches read object storage, and metrics.log has the estimates (group=cache_curve) every five minutes.`,
        options: {
          'charting.chart.stackMode': 'stacked',
          'charting.chart.overlayFields': 'Dollars',
          'charting.axisY2.enabled': '1',
          'charting.axisTitleY.text': 'Requests',
          'charting.axisTitleY2.text': 'Dollars',
        },
      },
    ],
    [
      {
        title: 'Saved by acceleration and summaries',
        missing: 'the audit trail has no field kb_saved.',
      },
      { title: 'Schedules ahead, budget alerts', missing: 'there is no scheduler yet.' },
    ],
  ],
};

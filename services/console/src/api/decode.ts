/**
 * From JSON of unknown shape to the page's types. Lenient: numbers may come as text, lists may be
 * missing, so that a newer or older server still shows what it can.
 */

import type {
  AppInfo,
  Entry,
  EventRow,
  EventsPage,
  Explanation,
  FieldValue,
  InspectedOperator,
  InspectedPart,
  Inspection,
  JobStatus,
  JobStatuses,
  ListedJob,
  Me,
  Peer,
  Report,
  ServerInfo,
  ServerMessage,
  Suggestion,
  Summary,
  Timeline,
} from './types';

type Json = Record<string, unknown>;

export function asObject(value: unknown): Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Json)
    : {};
}

const asList = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);
const asText = (value: unknown): string =>
  typeof value === 'string' ? value : value === null || value === undefined ? '' : String(value);
const asBoolean = (value: unknown): boolean => value === true || value === 1 || value === '1';

function asNumber(value: unknown): number {
  const number = typeof value === 'number' ? value : Number(asText(value) || 'NaN');
  return Number.isFinite(number) ? number : 0;
}

function optionalNumber(value: unknown): number | undefined {
  return value === undefined || value === null || value === '' ? undefined : asNumber(value);
}

export function asFieldValue(value: unknown): FieldValue {
  if (Array.isArray(value)) return value.map(asText);
  return typeof value === 'object' && value !== null ? JSON.stringify(value) : asText(value);
}

export function decodeMessages(value: unknown): ServerMessage[] {
  return asList(value).map((item) => {
    const message = asObject(item);
    const code = asText(message.code);
    return {
      type: asText(message.type).toUpperCase(),
      text: asText(message.text),
      ...(code === '' ? {} : { code }),
    };
  });
}

export function decodeServerInfo(body: unknown): ServerInfo {
  const root = asObject(body);
  const content = asObject(asObject(asList(root.entry)[0]).content);
  return {
    // `version` is that of Splunk's REST API, which clients check.
    version: asText(content.karst_version),
    serverName: asText(content.serverName),
  };
}

export function decodePeers(body: unknown): Peer[] {
  return asList(asObject(body).entry).map((entry) => {
    const content = asObject(asObject(entry).content);
    return {
      id: asText(asObject(entry).name),
      name: asText(content.label),
      address: asText(content.host_port_pair),
      site: asText(content.site) || 'default',
      roles: asList(content.roles).map(asText),
      status: asText(content.status) || 'Unknown',
      reason: asText(content.status_reason),
      leadsSince: asText(content.leads_since),
      write: optionalNumber(content.catalog_write) ?? null,
      version: asText(content.splunk_version),
      started: asText(content.started),
      // A process of an older version does not say it, and may.
      hasLocalAcks: content.local_acks === undefined || asBoolean(content.local_acks),
      appsChecksum: asText(content.active_bundle_id),
    };
  });
}

export function decodeJob(body: unknown): JobStatus {
  const root = asObject(body);
  const content = asObject(asObject(asList(root.entry)[0] ?? root).content);
  const dispatchState = asText(content.dispatchState) || 'QUEUED';
  return {
    dispatchState,
    isDone: asBoolean(content.isDone),
    isFailed: asBoolean(content.isFailed) || dispatchState === 'FAILED',
    isFinalized: asBoolean(content.isFinalized),
    isPaused: asBoolean(content.isPaused) || dispatchState.startsWith('PAUSE'),
    doneProgress: Math.min(1, Math.max(0, asNumber(content.doneProgress))),
    eventCount: asNumber(content.eventCount),
    eventAvailableCount: asNumber(content.eventAvailableCount ?? content.resultCount),
    scanCount: asNumber(content.scanCount),
    resultCount: asNumber(content.resultCount),
    resultPreviewCount: asNumber(content.resultPreviewCount ?? content.resultCount),
    numPreviews: asNumber(content.numPreviews),
    runDuration: asNumber(content.runDuration),
    earliestTime: asText(content.earliestTime),
    latestTime: asText(content.latestTime),
    reportSearch: asText(content.reportSearch) || null,
    eventIsTruncated: asBoolean(content.eventIsTruncated),
    isPartial: asBoolean(content.isPartial),
    isSaved: asBoolean(content.isSaved),
    ttl: asNumber(content.ttl),
    messages: decodeMessages(content.messages),
  };
}

export function decodeJobs(body: unknown): ListedJob[] {
  return asList(asObject(body).entry).map((item) => {
    const entry = asObject(item);
    const content = asObject(entry.content);
    const acl = asObject(entry.acl);
    const request = asObject(content.request);
    return {
      sid: asText(content.sid),
      search: asText(content.search) || asText(entry.name),
      owner: asText(acl.owner) || asText(entry.author),
      app: asText(acl.app),
      label: asText(content.label),
      provenance: asText(content.provenance),
      created: asText(content.published),
      earliest: asText(request.earliest_time),
      latest: asText(request.latest_time),
      status: decodeJob({ content }),
    };
  });
}

export function decodeJobStatuses(body: unknown): JobStatuses {
  const root = asObject(body);
  const jobs: JobStatuses['jobs'] = new Map();
  for (const item of asList(root.jobs)) {
    const job = asObject(item);
    const cost = asObject(job.cost);
    const reads = asObject(cost.reads);
    const bytes = (tier: string) => asNumber(asObject(reads[tier]).bytes);
    jobs.set(asText(job.sid), {
      status: decodeJob({ content: job.content }),
      cost: {
        dollars: asNumber(cost.dollars),
        storeRequests: asNumber(reads.store_requests),
        bytes: { dram: bytes('dram'), nvme: bytes('nvme'), store: bytes('store') },
      },
    });
  }
  return { jobs, unknown: asList(root.unknown).map(asText) };
}

export function decodeExplanation(body: unknown): Explanation {
  const root = asObject(body);
  return {
    normalized: asText(root.normalized),
    commands: asList(root.commands).map((item) => {
      const command = asObject(item);
      return {
        name: asText(command.name),
        text: asText(command.text),
        kind: asText(command.kind),
        runs: asText(command.runs),
      };
    }),
    messages: decodeMessages(root.messages),
    estimate: root.estimate,
  };
}

const firstContent = (body: unknown): Json =>
  asObject(asObject(asList(asObject(body).entry)[0]).content);

export function decodeMe(body: unknown): Me {
  const content = firstContent(body);
  return {
    username: asText(content.username),
    roles: asList(content.roles).map(asText),
    capabilities: new Set(asList(content.capabilities).map(asText)),
    zone: asText(content.tz),
  };
}

export function decodeApps(body: unknown): AppInfo[] {
  const apps = asList(asObject(body).entry).map((item) => {
    const entry = asObject(item);
    const content = asObject(entry.content);
    const name = asText(entry.name);
    const isShown =
      (content.visible === undefined || asBoolean(content.visible)) && !asBoolean(content.disabled);
    const canWrite = asObject(entry.acl).can_write !== false;
    return { name, label: asText(content.label) || name, isShown, canWrite };
  });
  return apps.filter((app) => app.name !== '').sort((a, b) => a.label.localeCompare(b.label));
}

/** The path of a link, which a server may also give as a whole address. */
function pathOf(link: string): string {
  const path = link.replace(/^https?:\/\/[^/]*/, '');
  return path.startsWith('/services') ? path : '';
}

export function decodeEntries(body: unknown): Entry[] {
  return asList(asObject(body).entry).map((item) => {
    const entry = asObject(item);
    const acl = asObject(entry.acl);
    const perms = asObject(acl.perms);
    return {
      name: asText(entry.name),
      path: pathOf(asText(asObject(entry.links).edit) || asText(entry.id)),
      app: asText(acl.app),
      owner: asText(acl.owner) || asText(entry.author),
      sharing: asText(acl.sharing),
      canWrite: acl.can_write === undefined || asBoolean(acl.can_write),
      isRemovable: asBoolean(acl.removable),
      readers: asList(perms.read).map(asText),
      writers: asList(perms.write).map(asText),
      links: Object.keys(asObject(entry.links)),
      content: asObject(entry.content),
    };
  });
}

export function decodeReports(body: unknown): Report[] {
  return decodeEntries(body).map((entry) => {
    const { content } = entry;
    return {
      name: entry.name,
      app: entry.app,
      owner: entry.owner,
      sharing: entry.sharing,
      description: asText(content.description),
      search: asText(content.search),
      earliest: asText(content['dispatch.earliest_time']),
      latest: asText(content['dispatch.latest_time']),
      isScheduled: asBoolean(content.is_scheduled),
      cron: asText(content.cron_schedule),
      nextRun: asText(content.next_scheduled_time),
      disabled: asBoolean(content.disabled),
      removable: entry.isRemovable && entry.canWrite,
      entry,
    };
  });
}

export function decodeEvents(body: unknown): EventsPage {
  const root = asObject(body);
  return {
    events: asList(root.results).map((item) => {
      const event: EventRow = {};
      for (const [name, value] of Object.entries(asObject(item))) {
        if (value !== null) event[name] = asFieldValue(value);
      }
      return event;
    }),
    highlighted: asList(root.highlighted).map(asText),
  };
}

export function decodeTimeline(body: unknown): Timeline {
  const root = asObject(body);
  return {
    eventCount: asNumber(root.event_count),
    buckets: asList(root.buckets)
      .map((item) => {
        const bucket = asObject(item);
        return {
          start: asNumber(bucket.earliest_time),
          duration: asNumber(bucket.duration),
          count: asNumber(bucket.total_count),
        };
      })
      .filter((bucket) => bucket.duration > 0)
      .sort((a, b) => a.start - b.start),
  };
}

export function decodeSummary(body: unknown): Summary {
  const root = asObject(body);
  const fields = Object.entries(asObject(root.fields)).map(([name, value]) => {
    const field = asObject(value);
    return {
      name,
      count: asNumber(field.count),
      distinctCount: asNumber(field.distinct_count),
      isExact: field.is_exact === undefined ? true : asBoolean(field.is_exact),
      numericCount: asNumber(field.numeric_count),
      modes: asList(field.modes).map((item) => {
        const mode = asObject(item);
        return { value: asText(mode.value), count: asNumber(mode.count) };
      }),
      min: optionalNumber(field.min),
      max: optionalNumber(field.max),
      mean: optionalNumber(field.mean),
    };
  });
  const most = Math.max(0, ...fields.map((field) => field.count));
  return { eventCount: asNumber(root.event_count) || most, fields };
}

const rowsOrNone = (value: unknown): number | null => optionalNumber(value) ?? null;

function decodeOperator(value: unknown): InspectedOperator {
  const operator = asObject(value);
  return {
    name: asText(operator.name),
    detail: asText(operator.detail),
    partitions: asNumber(operator.partitions),
    seconds: asNumber(operator.seconds),
    rows: rowsOrNone(operator.rows),
    spilledBytes: asNumber(operator.spilled_bytes),
    inputs: asList(operator.inputs).map(decodeOperator),
  };
}

const TIERS = ['dram', 'nvme', 'store'];

function decodePart(value: unknown): InspectedPart {
  const part = asObject(value);
  const reads = asObject(part.reads);
  const bytes = (tier: string) => asNumber(asObject(reads[tier]).bytes);
  return {
    indexer: asText(part.indexer),
    buckets: asNumber(part.buckets),
    scanned: asNumber(part.events_scanned),
    matched: asNumber(part.events_matched),
    cpu: asNumber(part.cpu),
    bytes: TIERS.reduce((sum, tier) => sum + bytes(tier), 0),
    storeBytes: bytes('store'),
    phases: asList(part.phases).map((item) => {
      const phase = asObject(item);
      return { name: asText(phase.name), seconds: asNumber(phase.seconds) };
    }),
  };
}

export function decodeInspection(body: unknown): Inspection {
  const inspection = asObject(asObject(body).inspection);
  const reads = asObject(inspection.reads);
  const scan = asObject(inspection.scan);
  const counters = Object.entries(scan).filter(([, value]) => typeof value === 'number');
  return {
    runDuration: asNumber(inspection.run_duration),
    phases: asList(inspection.phases).map((item) => {
      const phase = asObject(item);
      return {
        name: asText(phase.name),
        seconds: asNumber(phase.seconds),
        invocations: asNumber(phase.invocations),
        rowsIn: rowsOrNone(phase.rows_in),
        rowsOut: rowsOrNone(phase.rows_out),
      };
    }),
    plans: asList(inspection.plans).map(decodeOperator),
    tiers: TIERS.map((name) => {
      const tier = asObject(reads[name]);
      return {
        name,
        blocks: asNumber(tier.blocks),
        bytes: asNumber(tier.bytes),
        seconds: asNumber(tier.seconds),
      };
    }),
    storeRequests: asNumber(reads.store_requests),
    dollars: asNumber(inspection.dollars),
    pricePer1000: asNumber(inspection.s3_price_get_per_1000),
    scan: Object.fromEntries(counters) as Record<string, number>,
    prunedBy: asList(scan.pruned_by).map(asText),
    answeredFrom: asList(inspection.answered_from).map(asText),
    parts: asList(scan.parts).map(decodePart),
    partPlans: asList(inspection.part_plans).map((item) => {
      const part = asObject(item);
      return { indexer: asText(part.indexer), plan: decodeOperator(part.plan) };
    }),
  };
}

/** Takes `{label, detail, insert, from, to}` and the parser's own `{text, summary, span}`. */
export function decodeSuggestions(body: unknown): Suggestion[] {
  return asList(asObject(body).suggestions)
    .map((item) => {
      const suggestion = asObject(item);
      const span = asObject(suggestion.span);
      const label = asText(suggestion.label ?? suggestion.text);
      return {
        label,
        detail: asText(suggestion.detail ?? suggestion.summary),
        insert: asText(suggestion.insert) || label,
        from: asNumber(suggestion.from ?? span.start),
        to: asNumber(suggestion.to ?? span.end),
      };
    })
    .filter((suggestion) => suggestion.label !== '');
}

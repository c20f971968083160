/** The shapes the server answers with, as far as the page reads them. */

export interface ServerMessage {
  type: string;
  text: string;
  /** Names the reason of a refused login, such as `password_expired`. */
  code?: string;
}

export interface ServerInfo {
  /** Of Karst. */
  version: string;
  serverName: string;
}

export type DispatchState = string;

export interface JobStatus {
  dispatchState: DispatchState;
  isDone: boolean;
  isFailed: boolean;
  isFinalized: boolean;
  isPaused: boolean;
  doneProgress: number;
  eventCount: number;
  /** Events kept for paging; never more than `eventCount`. */
  eventAvailableCount: number;
  scanCount: number;
  resultCount: number;
  /** Rows of the last preview while the search runs, of the result once it is there. */
  resultPreviewCount: number;
  /** Previews made so far. */
  numPreviews: number;
  runDuration: number;
  earliestTime: string;
  latestTime: string;
  /** The transforming part of the search; null when its results are events. */
  reportSearch: string | null;
  eventIsTruncated: boolean;
  /** Whether a part of the data could not be searched. */
  isPartial: boolean;
  /** Kept until somebody says otherwise. */
  isSaved: boolean;
  /** Seconds for which it is kept after it was last asked for. */
  ttl: number;
  messages: ServerMessage[];
}

/** A job of a list: what was asked, by whom, and how far it is. */
export interface ListedJob {
  sid: string;
  search: string;
  owner: string;
  app: string;
  /** The saved search it is of. */
  label: string;
  /** What has asked for it: `UI:` and a page, `rest`, `scheduler`. */
  provenance: string;
  created: string;
  earliest: string;
  latest: string;
  status: JobStatus;
}

/** Bytes and requests by where they were read. */
export interface JobCost {
  dollars: number;
  storeRequests: number;
  bytes: { dram: number; nvme: number; store: number };
}

export interface JobStatuses {
  jobs: Map<string, { status: JobStatus; cost: JobCost }>;
  /** Ids of jobs that are gone. */
  unknown: string[];
}

/** How the server understands a search. */
export interface Explanation {
  normalized: string;
  commands: { name: string; text: string; kind: string; runs: string }[];
  messages: ServerMessage[];
  /** What it reads at most; `search/estimate.ts` decodes it. */
  estimate: unknown;
}

export interface Me {
  username: string;
  roles: string[];
  capabilities: Set<string>;
  /** The time zone of the account; empty if it has none. */
  zone: string;
}

export interface AppInfo {
  name: string;
  label: string;
  /** Whether people open it: it is neither hidden nor disabled. */
  isShown: boolean;
  /** Whether the user may add objects to it that others see. */
  canWrite: boolean;
}

/** A saved search. */
export interface Report {
  name: string;
  app: string;
  owner: string;
  sharing: string;
  description: string;
  search: string;
  earliest: string;
  latest: string;
  isScheduled: boolean;
  cron: string;
  nextRun: string;
  disabled: boolean;
  /** Whether the user may delete it. */
  removable: boolean;
  /** The object as forms and permissions have it. */
  entry: Entry;
}

export interface NewReport {
  name: string;
  description: string;
  search: string;
  earliest: string;
  latest: string;
  /** With everybody who uses the app, instead of its owner alone. */
  shared: boolean;
}

export type FieldValue = string | string[];
export type EventRow = Record<string, FieldValue>;

export interface EventsPage {
  events: EventRow[];
  highlighted: string[];
}

export interface ResultRows {
  fields: string[];
  rows: (FieldValue | null)[][];
  preview: boolean;
  messages: ServerMessage[];
  /** What is known of whole columns without a look at the rows; absent where rows were made otherwise. */
  byColumn?: ColumnFacts;
}

export interface ColumnFacts {
  /** Whether every cell with anything in it is a number, and at least one is. */
  isNumeric: (column: number) => boolean;
  lengths: (column: number) => ColumnLengths;
  cells: (column: number) => readonly (FieldValue | null)[];
}

/** Characters of the longest line: of the first rows, and of all; and the most lines of a cell. */
export interface ColumnLengths {
  first: number;
  all: number;
  lines: number;
}

export interface TimelineBucket {
  start: number;
  duration: number;
  count: number;
}

export interface Timeline {
  eventCount: number;
  buckets: TimelineBucket[];
}

export interface FieldSummary {
  name: string;
  count: number;
  distinctCount: number;
  isExact: boolean;
  numericCount: number;
  modes: { value: string; count: number }[];
  min?: number;
  max?: number;
  mean?: number;
}

/** The fields of the events that were looked at. */
export interface Summary {
  eventCount: number;
  fields: FieldSummary[];
}

export interface InspectedPhase {
  name: string;
  /** Those of partitions side by side added up. */
  seconds: number;
  invocations: number;
  rowsIn: number | null;
  rowsOut: number | null;
}

export interface InspectedOperator {
  name: string;
  detail: string;
  partitions: number;
  seconds: number;
  rows: number | null;
  spilledBytes: number;
  inputs: InspectedOperator[];
}

export interface InspectedTier {
  name: string;
  blocks: number;
  bytes: number;
  seconds: number;
}

/** What another process did of a search. */
export interface InspectedPart {
  indexer: string;
  buckets: number;
  scanned: number;
  matched: number;
  /** Seconds of CPU time. */
  cpu: number;
  /** All that it read, and what of that came from object storage. */
  bytes: number;
  storeBytes: number;
  phases: { name: string; seconds: number }[];
}

/** How a search ran: where its time went, what it read and left out, what that cost. */
export interface Inspection {
  runDuration: number;
  phases: InspectedPhase[];
  plans: InspectedOperator[];
  tiers: InspectedTier[];
  storeRequests: number;
  dollars: number;
  pricePer1000: number;
  /** Counters of buckets, granules and events by name. */
  scan: Record<string, number>;
  prunedBy: string[];
  answeredFrom: string[];
  parts: InspectedPart[];
  /** The plans that ran in other processes. */
  partPlans: { indexer: string; plan: InspectedOperator }[];
}

export type JobAction =
  | 'cancel'
  | 'finalize'
  | 'pause'
  | 'unpause'
  | 'touch'
  | 'setttl'
  | 'save'
  | 'unsave';

export interface Suggestion {
  label: string;
  detail: string;
  insert: string;
  from: number;
  to: number;
}

/** A process of the cluster. */
export interface Peer {
  id: string;
  name: string;
  /** Where the other processes reach it. */
  address: string;
  /** Its data centre or zone; `default` for none. */
  site: string;
  roles: string[];
  /** `Up`, `Down`, `Unknown`, or `Decommissioning` while it is taken out, until when it answers. */
  status: string;
  /** Why it does not answer. */
  reason: string;
  /** Empty, unless it has the catalog open. */
  leadsSince: string;
  /** The number of the last write of the catalog that it has. */
  write: number | null;
  version: string;
  started: string;
  /** Whether it may have acknowledged events that only its own disk has. */
  hasLocalAcks: boolean;
  /** The checksum of the installed apps by which it works; empty if it is not known. */
  appsChecksum: string;
}

/** An object of a collection: an index, a user, a macro. */
export interface Entry {
  name: string;
  /** Where it is changed and removed: the path of its link, without the server. */
  path: string;
  app: string;
  owner: string;
  /** `user`, `app`, `global` or `system`. */
  sharing: string;
  canWrite: boolean;
  isRemovable: boolean;
  readers: string[];
  writers: string[];
  /** The names of its links: what can be done with it. */
  links: string[];
  content: Record<string, unknown>;
}

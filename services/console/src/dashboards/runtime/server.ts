/**
 * The calls of dashboards to the server: jobs in the app of the page, views, navigation, saved searches.
 */

import { ApiError, errorKind, FROM_SCRIPT, formBody, type Renew } from '../../api/client';
import { asObject, decodeInspection, decodeJobStatuses, decodeMessages } from '../../api/decode';
import { readEvents } from '../../api/eventStream';
import type { JobSource } from '../../api/jobFeed';
import { fetchRows } from '../../api/rowsReader';
import type { ResultRows } from '../../api/types';
import { withSearch } from '../../query/typed';
import type { Options } from '../model/types';

export interface JobSpec {
  app: string;
  search: string;
  earliest: string;
  latest: string;
  timezone: string;
  /** What asks, for the audit trail. */
  provenance?: string | undefined;
  /** The stream that tells of the job, too. */
  statusStream?: string | undefined;
}

export interface ReportSpec {
  search: string;
  earliest: string;
  latest: string;
  app: string;
  /** Its settings `display.*`. */
  display?: Options;
}

export interface ViewInfo {
  name: string;
  app: string;
  label: string;
  description: string;
  text: string;
  owner: string;
  sharing: string;
  isDashboard: boolean;
  isVisible: boolean;
  canWrite: boolean;
  isRemovable: boolean;
  readers: string[];
  writers: string[];
}

/** What the search manager asks for. */
export interface SearchServer extends JobSource {
  /** The id of a new job. The server chooses it: it names the search head that has the job. */
  createJob(spec: JobSpec): Promise<string>;
  rows(
    sid: string,
    preview: boolean,
    count: number,
    postProcess: string | null,
  ): Promise<ResultRows>;
  cancel(sid: string): void;
  report(app: string, name: string): Promise<ReportSpec>;
  /** Fails as `unreachable` while the server is away. */
  ping?(): Promise<void>;
}

interface Call {
  method?: 'GET' | 'POST' | 'DELETE';
  /** A list is sent as one parameter per value, here and in a form. */
  query?: Record<string, string | string[]>;
  form?: Record<string, string | string[]>;
  /** Goes on when the page is left. */
  keepalive?: boolean;
  signal?: AbortSignal;
}

function formKey(): string | null {
  return /(?:^|;\s*)splunkweb_csrf_token_\d+=([^;]*)/.exec(document.cookie)?.[1] ?? null;
}

/** Who asks. */
export interface Connection {
  username: string;
  /** Empty where the session is a cookie. */
  sessionKey: string;
  renew?: Renew | undefined;
}

function identity(key: string): {
  headers: Record<string, string>;
  credentials: RequestCredentials;
} {
  const headers: Record<string, string> = { Accept: 'application/json', ...FROM_SCRIPT };
  if (key) headers.Authorization = `Splunk ${key}`;
  const token = key ? null : formKey();
  if (token !== null) headers['X-Splunk-Form-Key'] = token;
  return { headers, credentials: key ? 'omit' : 'same-origin' };
}

async function ask(key: string, path: string, call: Call): Promise<Response> {
  const query = formBody({ output_mode: 'json', ...call.query });
  try {
    return await fetch(`${path}?${query}`, {
      method: call.method ?? 'GET',
      ...identity(key),
      body: call.form ? formBody(call.form) : null,
      cache: 'no-store',
      keepalive: call.keepalive ?? false,
      signal: call.signal ?? null,
    });
  } catch {
    const text = 'the server cannot be reached';
    throw new ApiError('unreachable', 0, [{ type: 'ERROR', text }]);
  }
}

type Who = Pick<Connection, 'sessionKey' | 'renew'>;

async function send(who: Who, path: string, call: Call = {}): Promise<Response> {
  let response = await ask(who.sessionKey, path, call);
  // What is asked while the page is left does not wait for a login.
  if (response.status === 401 && who.renew && !call.keepalive) {
    response = await ask(await who.renew(who.sessionKey, call.signal), path, call);
  }
  if (response.ok) return response;
  const text = await response.text().catch(() => '');
  let messages = [{ type: 'ERROR', text: `the server answered ${response.status}` }];
  try {
    const told = decodeMessages(asObject(JSON.parse(text)).messages);
    if (told.length > 0) messages = told;
  } catch {
    // A proxy's page, or nothing.
  }
  throw new ApiError(errorKind(response.status), response.status, messages);
}

interface Entry {
  name: string;
  content: Record<string, unknown>;
  acl: Record<string, unknown>;
}

function entriesOf(body: Record<string, unknown>): Entry[] {
  const all = Array.isArray(body.entry) ? body.entry.map(asObject) : [];
  return all.map((entry) => ({
    name: String(entry.name ?? ''),
    content: asObject(entry.content),
    acl: asObject(entry.acl),
  }));
}

const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const seg = encodeURIComponent;

function viewOf(entry: Entry): ViewInfo {
  const perms = asObject(entry.acl.perms);
  const names = (value: unknown) => (Array.isArray(value) ? value.map(String) : []);
  return {
    name: entry.name,
    app: text(entry.acl.app),
    label: text(entry.content.label) || entry.name,
    description: text(entry.content.description),
    text: text(entry.content['eai:data']),
    owner: text(entry.acl.owner),
    sharing: text(entry.acl.sharing),
    isDashboard: entry.content.isDashboard === true,
    isVisible: entry.content.isVisible !== false,
    canWrite: entry.acl.can_write === true,
    isRemovable: entry.acl.removable === true,
    readers: names(perms.read),
    writers: names(perms.write),
  };
}

export interface Permissions {
  sharing: 'user' | 'app' | 'global';
  read: string[];
  write: string[];
}

export interface Cost {
  seconds: number;
  bytes: number;
  storeRequests: number;
  dollars: number;
}

export interface TimePreset {
  label: string;
  earliest: string;
  latest: string;
}

/** All calls, for one user. */
export function dashboardServer({ username, ...who }: Connection) {
  const namespace = (app: string, owner = username) => `/servicesNS/${seg(owner)}/${seg(app)}`;

  async function json(path: string, call?: Call): Promise<Record<string, unknown>> {
    const answer = await (await send(who, path, call)).text();
    return answer === '' ? {} : asObject(JSON.parse(answer));
  }

  const searches: SearchServer = {
    async createJob({ app, search, earliest, latest, timezone, provenance, statusStream }) {
      const form: Record<string, string> = { search: withSearch(search.trim()) || '*', timezone };
      if (provenance !== undefined) form.provenance = provenance;
      if (statusStream !== undefined) form.status_stream = statusStream;
      if (earliest !== '') form.earliest_time = earliest;
      if (latest !== '') form.latest_time = latest;
      const body = await json(`${namespace(app)}/search/v2/jobs`, { method: 'POST', form });
      return text(body.sid);
    },
    async jobs(sids) {
      const form = { sid: sids, touch: '1' };
      const body = await json('/api/v1/jobs/status', { method: 'POST', form });
      const { jobs } = decodeJobStatuses(body);
      return new Map([...jobs].map(([sid, job]) => [sid, job.status]));
    },
    async stream(sids, name, signal) {
      const query = { sid: sids, ...(name === null ? {} : { status_stream: name }) };
      return readEvents(await send(who, '/api/v1/jobs/stream', { query, signal }));
    },
    async rows(sid, preview, count, postProcess) {
      const path = `/services/search/v2/jobs/${seg(sid)}/${preview ? 'results_preview' : 'results'}`;
      const form: Record<string, string> = { output_mode: 'json_rows', count: String(count) };
      // With POST, as a search may be longer than an address.
      const request =
        postProcess === null
          ? { url: `${path}?${new URLSearchParams(form)}`, method: 'GET' as const, body: null }
          : {
              url: `${path}?output_mode=json_rows`,
              method: 'POST' as const,
              body: formBody({ ...form, search: postProcess }).toString(),
            };
      const { sessionKey, renew } = who;
      return fetchRows({ ...request, ...identity(sessionKey) }).catch(async (error) => {
        if (!(error instanceof ApiError) || error.status !== 401 || !renew) throw error;
        return fetchRows({ ...request, ...identity(await renew(sessionKey)) });
      });
    },
    cancel(sid) {
      const path = `/services/search/jobs/${seg(sid)}/control`;
      json(path, { method: 'POST', form: { action: 'cancel' }, keepalive: true }).catch(() => {});
    },
    async report(app, name) {
      const body = await json(`${namespace(app)}/saved/searches/${seg(name)}`).catch((error) => {
        if (!(error instanceof ApiError) || error.kind !== 'notFound') throw error;
        const told = `there is no report "${name}" in the app ${app}, or you may not read it`;
        throw new ApiError('rejected', 404, [{ type: 'ERROR', text: told }]);
      });
      const [entry] = entriesOf(body);
      const content = entry?.content ?? {};
      return {
        search: text(content.search),
        earliest: text(content['dispatch.earliest_time']),
        latest: text(content['dispatch.latest_time']),
        app: text(entry?.acl.app) || app,
        display: new Map(
          Object.entries(content)
            .filter(([name]) => name.startsWith('display.'))
            .map(([name, value]) => [name, text(value)]),
        ),
      };
    },
  };

  const ping = async () => {
    await json('/services/server/info');
  };

  /** What a job has read, and what that costs. */
  async function jobCost(sid: string): Promise<Cost> {
    const found = decodeInspection(await json(`/services/search/jobs/${seg(sid)}/inspector`));
    return {
      seconds: found.runDuration,
      bytes: found.tiers.reduce((sum, tier) => sum + tier.bytes, 0),
      storeRequests: found.storeRequests,
      dollars: found.dollars,
    };
  }

  async function listViews(app: string): Promise<ViewInfo[]> {
    const body = await json(`${namespace(app)}/data/ui/views`, { query: { count: '0' } });
    return entriesOf(body).map(viewOf);
  }

  async function readView(app: string, name: string): Promise<ViewInfo> {
    const [entry] = entriesOf(await json(`${namespace(app)}/data/ui/views/${seg(name)}`));
    if (!entry) throw new ApiError('notFound', 404, []);
    return viewOf(entry);
  }

  /** A view keeps its place: what is shared stays shared. */
  const homeOf = (view: ViewInfo) =>
    namespace(view.app, view.sharing === 'user' ? view.owner : 'nobody');

  /** The view as it is now, at the place where `saveView` writes it. */
  async function storedView(view: ViewInfo): Promise<ViewInfo> {
    const [entry] = entriesOf(await json(`${homeOf(view)}/data/ui/views/${seg(view.name)}`));
    if (!entry) throw new ApiError('notFound', 404, []);
    return viewOf(entry);
  }

  async function createView(app: string, name: string, source: string): Promise<void> {
    const form = { name, 'eai:data': source };
    await json(`${namespace(app)}/data/ui/views`, { method: 'POST', form });
  }

  async function saveView(view: ViewInfo, source: string): Promise<void> {
    const form = { 'eai:data': source };
    await json(`${homeOf(view)}/data/ui/views/${seg(view.name)}`, { method: 'POST', form });
  }

  async function deleteView(view: ViewInfo): Promise<void> {
    await json(`${homeOf(view)}/data/ui/views/${seg(view.name)}`, { method: 'DELETE' });
  }

  async function shareView(view: ViewInfo, permissions: Permissions): Promise<void> {
    const form: Record<string, string> = { sharing: permissions.sharing, owner: view.owner };
    if (permissions.sharing !== 'user') {
      form['perms.read'] = permissions.read.join(',');
      form['perms.write'] = permissions.write.join(',');
    }
    await json(`${homeOf(view)}/data/ui/views/${seg(view.name)}/acl`, { method: 'POST', form });
  }

  async function listRoles(): Promise<string[]> {
    const body = await json('/services/authorization/roles', { query: { count: '0' } });
    return entriesOf(body).map((entry) => entry.name);
  }

  /** The text of `nav/default.xml`; null for an app without one. */
  async function readNavigation(app: string): Promise<string | null> {
    // The list: a browser writes a red line into its console where one that is not there is asked for.
    const body = await json(`${namespace(app)}/data/ui/nav`, { query: { count: '0' } });
    const own = entriesOf(body).find((one) => one.name === 'default' && text(one.acl.app) === app);
    return own ? text(own.content['eai:data']) : null;
  }

  async function readPanel(app: string, name: string): Promise<string> {
    const [entry] = entriesOf(await json(`${namespace(app)}/data/ui/panels/${seg(name)}`));
    return text(entry?.content['eai:data']);
  }

  async function appLabel(app: string): Promise<string> {
    const [entry] = entriesOf(await json(`/services/apps/local/${seg(app)}`));
    return text(entry?.content.label) || app;
  }

  /** Ranges by name: a dashboard may name one instead of its bounds. */
  async function listTimes(app: string): Promise<TimePreset[]> {
    const body = await json(`${namespace(app)}/configs/conf-times`, { query: { count: '0' } });
    return entriesOf(body).map(({ content }) => ({
      label: text(content.label),
      earliest: text(content.earliest_time),
      latest: text(content.latest_time),
    }));
  }

  /** A style sheet of an app. */
  async function readStatic(app: string, file: string): Promise<string> {
    const path = file.split('/').map(seg).join('/');
    return (await send(who, `/static/app/${seg(app)}/${path}`)).text();
  }

  return {
    ...searches,
    ping,
    jobCost,
    listViews,
    readView,
    storedView,
    createView,
    saveView,
    deleteView,
    shareView,
    listRoles,
    readNavigation,
    readPanel,
    appLabel,
    listTimes,
    readStatic,
  };
}

export type DashboardServer = ReturnType<typeof dashboardServer>;

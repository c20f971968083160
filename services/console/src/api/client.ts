/**
 * The one door to the server. Adds the session key, turns every failure into an `ApiError` that
 * says what the page should do, and reports an expired session once, at the place it happens.
 */

import { withSearch } from '../query/typed';
import {
  asObject,
  decodeApps,
  decodeEntries,
  decodeEvents,
  decodeExplanation,
  decodeInspection,
  decodeJob,
  decodeJobStatuses,
  decodeJobs,
  decodeMe,
  decodePeers,
  decodeReports,
  decodeServerInfo,
  decodeSuggestions,
  decodeSummary,
  decodeTimeline,
} from './decode';
import { ApiError, apiErrorOf } from './errors';
import { fromByteOffset, toByteOffset } from './offsets';
import { fetchRows } from './rowsReader';
import type {
  AppInfo,
  Entry,
  EventRow,
  EventsPage,
  Explanation,
  Inspection,
  JobAction,
  JobStatus,
  JobStatuses,
  ListedJob,
  Me,
  NewReport,
  Peer,
  Report,
  ResultRows,
  ServerInfo,
  Suggestion,
  Summary,
  Timeline,
} from './types';

export { ApiError, type ApiErrorKind, errorKind } from './errors';

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

/**
 * Waits until a session that has ended goes on, and gives its key now, with which a request is sent once more; empty
 * where the session is a cookie.
 */
export type Renew = (usedKey: string, signal?: AbortSignal | null) => Promise<string>;

export interface SignedOut {
  /** Where to go on, to end the session at the identity provider, too. */
  redirect: string | null;
  /** Where the session has not ended yet; null if it has everywhere. */
  told: string | null;
}

export interface ClientOptions {
  /** Empty for the page's own origin. */
  baseUrl?: string;
  sessionKey?: string;
  renew?: Renew;
}

interface Call {
  method?: 'GET' | 'POST' | 'DELETE';
  /** A list is sent as one parameter per value, here and in a form. */
  query?: Record<string, string | number | string[]>;
  form?: Record<string, string | string[]>;
  /** A body that is no form, such as a file. */
  body?: Blob | string;
  signal?: AbortSignal;
  /** Whether the browser sends its cookies along, without a session key. */
  cookies?: boolean;
}

export interface JobRequest {
  search: string;
  earliest: string;
  latest: string;
  /** The zone in which `@d` and the like snap. */
  timezone: string;
  /** Whose macros, lookups and other knowledge objects the search uses; default: those of `search`. */
  namespace?: Namespace;
}

/** The page has its own login form. Without this header, a 401 has a challenge, and the browser asks for a password. */
export const FROM_SCRIPT = { 'X-Requested-With': 'XMLHttpRequest' } as const;

/** An owner and an app, as in `/servicesNS/OWNER/APP/`. */
export interface Namespace {
  owner: string;
  app: string;
}

export interface Provider {
  name: string;
  url: string;
}

export interface Welcome {
  providers: Provider[];
  user: string | null;
}

export interface Page {
  offset: number;
  count: number;
}

const JOBS = '/services/search/v2/jobs';
const SAVED = '/services/saved/searches';
/** Of searches that a page runs for itself: the list of jobs hides them. */
const PAGE_PROVENANCE = 'UI:Page';
const JSON_MODE = { output_mode: 'json' };

export class KarstClient {
  readonly #baseUrl: string;
  readonly #sessionKey: string | undefined;
  readonly #renew: Renew | undefined;
  #completionAvailable = true;

  constructor(options: ClientOptions = {}) {
    this.#baseUrl = options.baseUrl ?? '';
    this.#sessionKey = options.sessionKey;
    this.#renew = options.renew;
  }

  /** Opens a session, and replaces the password first if there is a new one. The browser gets it as a cookie that no script reads; the key is for browsers without. */
  async login(username: string, password: string, newPassword = ''): Promise<string> {
    const form: Record<string, string> = { username, password, cookie: '1', ...JSON_MODE };
    if (newPassword !== '') form.new_password = newPassword;
    const path = '/services/auth/login';
    const body = await this.#json(path, { method: 'POST', form, cookies: true });
    const key = asObject(body).sessionKey;
    if (typeof key !== 'string' || key === '') {
      throw new ApiError('server', 200, [
        { type: 'ERROR', text: 'the server sent no session key; is this a Karst server?' },
      ]);
    }
    return key;
  }

  /** What the login page offers besides passwords, and who is logged in by cookie already. */
  async welcome(signal?: AbortSignal): Promise<Welcome> {
    const body = asObject(await this.#json('/services/auth/providers', { signal, cookies: true }));
    const all = Array.isArray(body.providers) ? body.providers.map(asObject) : [];
    const providers = all
      .filter((one) => typeof one.url === 'string' && one.url.startsWith('/'))
      .map((one) => ({ name: String(one.name ?? 'SSO'), url: String(one.url) }));
    const user = typeof body.user === 'string' && body.user !== '' ? body.user : null;
    return { providers, user };
  }

  async serverInfo(signal?: AbortSignal): Promise<ServerInfo> {
    return decodeServerInfo(
      await this.#json('/services/server/info', { query: JSON_MODE, signal }),
    );
  }

  /** The processes of the cluster; none where there is no cluster. */
  async peers(signal?: AbortSignal): Promise<Peer[]> {
    const query = { ...JSON_MODE, count: 0 };
    return decodePeers(await this.#json('/services/cluster/manager/peers', { query, signal }));
  }

  /** `more`: further parameters of the job, which replace those that it has here. */
  async createJob(
    request: JobRequest,
    signal?: AbortSignal,
    more: Record<string, string> = {},
  ): Promise<string> {
    const search = withSearch(request.search.trim()) || '*';
    const form: Record<string, string> = {
      search,
      timezone: request.timezone,
      status_buckets: '300',
      ...JSON_MODE,
      ...more,
    };
    if (request.earliest !== '') form.earliest_time = request.earliest;
    if (request.latest !== '') form.latest_time = request.latest;
    const path = request.namespace ? namespaced(request.namespace, JOBS) : JOBS;
    const body = await this.#json(path, { method: 'POST', form, signal });
    return String(asObject(body).sid ?? '');
  }

  async job(sid: string, signal?: AbortSignal): Promise<JobStatus> {
    return decodeJob(await this.#json(jobPath(sid), { query: JSON_MODE, signal }));
  }

  /** A job with what was asked and by whom. */
  async listedJob(sid: string, signal?: AbortSignal): Promise<ListedJob> {
    const found = decodeJobs(await this.#json(jobPath(sid), { query: JSON_MODE, signal }))[0];
    if (found) return found;
    throw new ApiError('notFound', 404, [{ type: 'ERROR', text: `there is no job "${sid}"` }]);
  }

  async control(sid: string, action: JobAction, more: Record<string, string> = {}): Promise<void> {
    const form = { action, ...more, ...JSON_MODE };
    await this.#json(jobPath(sid, 'control'), { method: 'POST', form });
  }

  /** Ends a job and removes what it found. */
  async removeJob(sid: string): Promise<void> {
    await this.#json(jobPath(sid), { method: 'DELETE', query: JSON_MODE });
  }

  /** Jobs, newest first: the user's own, or of everybody for somebody who may see them. */
  async jobs(signal?: AbortSignal): Promise<ListedJob[]> {
    const query = { ...JSON_MODE, count: 0 };
    return decodeJobs(await this.#json('/services/search/jobs', { query, signal }));
  }

  /** Progress and cost of many jobs in one request. `touch` keeps them for another lifetime. */
  async jobStatuses(
    sids: string[],
    options: { touch?: boolean; signal?: AbortSignal } = {},
  ): Promise<JobStatuses> {
    const form = { sid: sids, touch: options.touch ? '1' : '0' };
    const call: Call = { method: 'POST', form, signal: options.signal };
    return decodeJobStatuses(await this.#json('/api/v1/jobs/status', call));
  }

  /** The answer that tells of jobs as they change (`eventStream.ts`). */
  async jobStream(sids: string[], signal: AbortSignal): Promise<Response> {
    return this.#send('/api/v1/jobs/stream', { query: { sid: sids }, signal });
  }

  /** How the server understands a search. A mistake is an `ApiError` whose message shows its place. */
  async explain(request: JobRequest, signal?: AbortSignal): Promise<Explanation> {
    const search = withSearch(request.search);
    const form: Record<string, string> = { search, timezone: request.timezone };
    if (request.earliest !== '') form.earliest_time = request.earliest;
    if (request.latest !== '') form.latest_time = request.latest;
    const path = '/api/v1/explain';
    const at = request.namespace ? namespaced(request.namespace, path) : path;
    return decodeExplanation(await this.#json(at, { method: 'POST', form, signal }));
  }

  /** Who is logged in, and what that user may do. */
  async me(signal?: AbortSignal): Promise<Me> {
    const path = '/services/authentication/current-context';
    return decodeMe(await this.#json(path, { query: JSON_MODE, signal }));
  }

  /** All apps, by their labels. */
  async apps(signal?: AbortSignal): Promise<AppInfo[]> {
    const query = { ...JSON_MODE, count: 0 };
    return decodeApps(await this.#json('/services/apps/local', { query, signal }));
  }

  /** Saved searches that the user may see in an app, by name. */
  async reports(namespace: Namespace, signal?: AbortSignal): Promise<Report[]> {
    const query = { ...JSON_MODE, count: 0 };
    return decodeReports(await this.#json(namespaced(namespace, SAVED), { query, signal }));
  }

  async report(namespace: Namespace, name: string, signal?: AbortSignal): Promise<Report> {
    const path = `${namespaced(namespace, SAVED)}/${encodeURIComponent(name)}`;
    const found = decodeReports(await this.#json(path, { query: JSON_MODE, signal }))[0];
    if (found) return found;
    throw new ApiError('notFound', 404, [{ type: 'ERROR', text: `there is no report "${name}"` }]);
  }

  async createReport(namespace: Namespace, report: NewReport): Promise<void> {
    const form: Record<string, string> = {
      name: report.name,
      search: report.search,
      description: report.description,
      'dispatch.earliest_time': report.earliest,
      'dispatch.latest_time': report.latest,
      ...JSON_MODE,
    };
    await this.#json(namespaced(namespace, SAVED), { method: 'POST', form });
    if (!report.shared) return;
    const acl = `${namespaced(namespace, SAVED)}/${encodeURIComponent(report.name)}/acl`;
    const sharing = { sharing: 'app', owner: namespace.owner, 'perms.read': '*', ...JSON_MODE };
    await this.#json(acl, { method: 'POST', form: sharing });
  }

  async deleteReport(report: Report): Promise<void> {
    const namespace = {
      owner: report.sharing === 'user' ? report.owner : 'nobody',
      app: report.app,
    };
    const path = `${namespaced(namespace, SAVED)}/${encodeURIComponent(report.name)}`;
    await this.#json(path, { method: 'DELETE', query: JSON_MODE });
  }

  async events(sid: string, page: Page, signal?: AbortSignal): Promise<EventsPage> {
    const query = { ...JSON_MODE, ...page, highlight: 1 };
    return decodeEvents(await this.#json(jobPath(sid, 'events'), { query, signal }));
  }

  /** The newest events of a short search whose job nobody needs afterwards. */
  async eventsOf(
    request: JobRequest,
    count: number,
    signal?: AbortSignal,
  ): Promise<{ events: EventRow[]; total: number }> {
    const sid = await this.createJob(request, signal, {
      exec_mode: 'blocking',
      max_count: `${count}`,
      provenance: PAGE_PROVENANCE,
    });
    try {
      const [job, page] = await Promise.all([
        this.job(sid, signal),
        this.events(sid, { offset: 0, count }, signal),
      ]);
      if (job.isFailed) throw new ApiError('server', 200, job.messages);
      return { events: page.events, total: job.eventCount };
    } finally {
      // It is short-lived anyway: a failure to remove it harms nobody.
      this.removeJob(sid).catch(() => {});
    }
  }

  async rows(
    sid: string,
    which: 'results' | 'results_preview',
    page: Page,
    signal?: AbortSignal,
  ): Promise<ResultRows> {
    const query = { output_mode: 'json_rows', ...page };
    return this.#rows(jobPath(sid, which), { query, signal });
  }

  /**
   * All rows of a search, which runs for it, as lines of JSON (`search/exportEvents.ts`). With GET, the server refuses
   * a search that changes something; with POST, the search may be longer than an address.
   */
  async exportOf(
    request: JobRequest,
    method: 'GET' | 'POST',
    signal?: AbortSignal,
  ): Promise<Response> {
    const { timezone, earliest, latest, namespace } = request;
    // As for the job: the file has what the page shows.
    const search = withSearch(request.search);
    const form: Record<string, string> = { search, timezone, ...JSON_MODE };
    if (earliest !== '') form.earliest_time = earliest;
    if (latest !== '') form.latest_time = latest;
    const path = '/services/search/jobs/export';
    const call: Call = method === 'POST' ? { method, form, signal } : { query: form, signal };
    return this.#send(namespace ? namespaced(namespace, path) : path, call);
  }

  async timeline(sid: string, signal?: AbortSignal): Promise<Timeline> {
    return decodeTimeline(await this.#json(jobPath(sid, 'timeline'), { query: JSON_MODE, signal }));
  }

  async summary(sid: string, signal?: AbortSignal, values = 10): Promise<Summary> {
    const query = { ...JSON_MODE, top_count: values };
    return decodeSummary(await this.#json(jobPath(sid, 'summary'), { query, signal }));
  }

  async inspect(sid: string, signal?: AbortSignal): Promise<Inspection> {
    return decodeInspection(
      await this.#json(jobPath(sid, 'inspector'), { query: JSON_MODE, signal }),
    );
  }

  /** All objects of a collection. */
  async entries(
    path: string,
    signal?: AbortSignal,
    query: Record<string, string | string[]> = {},
  ): Promise<Entry[]> {
    const all = { ...JSON_MODE, count: 0, ...query };
    return decodeEntries(await this.#json(path, { query: all, signal }));
  }

  /** Creates or changes an object; what the server says it is now. */
  async change(path: string, form: Record<string, string | string[]> = {}): Promise<Entry[]> {
    const call: Call = { method: 'POST', query: JSON_MODE, form };
    return decodeEntries(await this.#json(path, call));
  }

  /** The answer of a path as JSON. */
  async get(
    path: string,
    query: Record<string, string | number> = {},
    signal?: AbortSignal,
  ): Promise<Record<string, unknown>> {
    return asObject(await this.#json(path, { query: { ...JSON_MODE, ...query }, signal }));
  }

  async removeObject(path: string): Promise<void> {
    await this.#json(path, { method: 'DELETE', query: JSON_MODE });
  }

  /** Sends a file or a text as it is; the answer as JSON. */
  async sendBody(
    path: string,
    body: Blob | string,
    query: Record<string, string>,
    signal?: AbortSignal,
  ): Promise<Record<string, unknown>> {
    const call: Call = { method: 'POST', query: { ...JSON_MODE, ...query }, body, signal };
    return asObject(await this.#json(path, call));
  }

  /** The content of a lookup file. */
  async fileText(path: string, signal?: AbortSignal): Promise<string> {
    return (await this.#send(path, { query: { output_mode: 'csv' }, signal })).text();
  }

  /** The rows of a search whose job nobody needs afterwards. */
  async rowsOf(
    request: JobRequest,
    signal?: AbortSignal,
    count = 1_000,
  ): Promise<ResultRows & { sid: string }> {
    const sid = await this.createJob(request, signal, {
      exec_mode: 'blocking',
      status_buckets: '0',
      provenance: PAGE_PROVENANCE,
    });
    const job = await this.job(sid, signal);
    if (job.isFailed) throw new ApiError('server', 200, job.messages);
    return { ...(await this.rows(sid, 'results', { offset: 0, count }, signal)), sid };
  }

  /** The rows that further commands, which begin with `|`, make of the results of a job. */
  async postProcess(
    sid: string,
    commands: string,
    count: number,
    signal?: AbortSignal,
  ): Promise<ResultRows> {
    const form = { search: commands, count: `${count}` };
    const call: Call = { method: 'POST', query: { output_mode: 'json_rows' }, form, signal };
    return this.#rows(jobPath(sid, 'results'), call);
  }

  /** Ends the session, and takes its cookie from the browser, also where a page has its key. */
  async logout(signal?: AbortSignal): Promise<SignedOut> {
    const call: Call = { method: 'POST', form: JSON_MODE, cookies: true, signal };
    const response = await this.#fetch('/services/auth/logout', call);
    const text = await response.text();
    // 503: it has ended at this server, which tells the others later. The way on is the same.
    const error = response.ok ? null : apiErrorOf(response.status, response.statusText, text, null);
    if (error && response.status !== 503) throw error;
    const { redirect } = asObject(JSON.parse(text));
    return {
      redirect: typeof redirect === 'string' ? redirect : null,
      told: error?.message ?? null,
    };
  }

  /** Completions at the cursor; none, for good, from a server that does not complete. */
  async complete(text: string, cursor: number, signal?: AbortSignal): Promise<Suggestion[]> {
    if (!this.#completionAvailable) return [];
    try {
      const query = { text, cursor: toByteOffset(text, cursor) };
      const found = decodeSuggestions(await this.#json('/api/v1/complete', { query, signal }));
      return found.map((suggestion) => ({
        ...suggestion,
        from: fromByteOffset(text, suggestion.from),
        to: fromByteOffset(text, suggestion.to),
      }));
    } catch (error) {
      if (error instanceof ApiError && error.kind === 'notFound') this.#completionAvailable = false;
      return [];
    }
  }

  async #json(path: string, call: Call): Promise<unknown> {
    const response = await this.#send(path, call);
    const text = await response.text();
    if (text === '') return {};
    try {
      return JSON.parse(text);
    } catch {
      throw new ApiError('server', response.status, [
        { type: 'ERROR', text: `the server's answer to ${path} is not JSON` },
      ]);
    }
  }

  async #send(path: string, call: Call): Promise<Response> {
    let response = await this.#fetch(path, call);
    if (response.ok) return response;
    const used = this.#sessionKey;
    if (response.status === 401 && used !== undefined && this.#renew) {
      // A request that was refused so has changed nothing.
      response = await this.#fetch(path, call, await this.#renew(used, call.signal));
      if (response.ok) return response;
    }
    const text = await response.text().catch(() => '');
    throw apiErrorOf(
      response.status,
      response.statusText,
      text,
      response.headers.get('Retry-After'),
    );
  }

  /** Rows of a result, which are read beside the page. */
  async #rows(path: string, call: Call): Promise<ResultRows> {
    const rows = (key: string | undefined) => {
      const { headers, credentials } = this.#identity(call, key);
      const request = {
        url: this.#baseUrl + path + queryString(call.query),
        method: call.form ? ('POST' as const) : ('GET' as const),
        headers,
        body: call.form ? formBody(call.form).toString() : null,
        credentials,
      };
      return fetchRows(request, call.signal);
    };
    const used = this.#sessionKey;
    try {
      return await rows(used);
    } catch (error) {
      const isExpired = error instanceof ApiError && error.status === 401;
      if (!isExpired || used === undefined || !this.#renew) throw error;
      return rows(await this.#renew(used, call.signal));
    }
  }

  /** Who asks: by a key, or by the cookie and what only this page knows. */
  #identity(
    call: Call,
    key: string | undefined,
  ): { headers: Record<string, string>; credentials: RequestCredentials } {
    const headers: Record<string, string> = { Accept: 'application/json', ...FROM_SCRIPT };
    const cookies = call.cookies === true || key === '';
    if (key) headers.Authorization = `Splunk ${key}`;
    const formKey = cookies ? formKeyCookie() : null;
    if (formKey !== null) headers['X-Splunk-Form-Key'] = formKey;
    return { headers, credentials: cookies ? 'same-origin' : 'omit' };
  }

  async #fetch(path: string, call: Call, key = this.#sessionKey): Promise<Response> {
    const { headers, credentials } = this.#identity(call, key);
    try {
      return await fetch(this.#baseUrl + path + queryString(call.query), {
        method: call.method ?? 'GET',
        headers,
        body: call.form ? formBody(call.form) : (call.body ?? null),
        signal: call.signal ?? null,
        cache: 'no-store',
        credentials,
      });
    } catch (error) {
      if (isAbort(error)) throw error;
      throw new ApiError('unreachable', 0, [
        { type: 'ERROR', text: 'the server cannot be reached' },
      ]);
    }
  }
}

/** What shows that a request comes from this page and not from another site's. */
function formKeyCookie(): string | null {
  if (typeof document === 'undefined') return null;
  const found = /(?:^|;\s*)splunkweb_csrf_token_\d+=([^;]*)/.exec(document.cookie);
  return found?.[1] ?? null;
}

export function formBody(form: Record<string, string | string[]>): URLSearchParams {
  const body = new URLSearchParams();
  for (const [name, value] of Object.entries(form)) {
    for (const one of Array.isArray(value) ? value : [value]) body.append(name, one);
  }
  return body;
}

/** The path of a resource as an app and an owner see it. */
export function namespaced({ owner, app }: Namespace, path: string): string {
  const begin = `/servicesNS/${encodeURIComponent(owner)}/${encodeURIComponent(app)}`;
  return path.startsWith('/services/') ? begin + path.slice('/services'.length) : path;
}

function jobPath(sid: string, part?: string): string {
  const job = `${JOBS}/${encodeURIComponent(sid)}`;
  return part ? `${job}/${part}` : job;
}

function queryString(query: Call['query']): string {
  if (!query) return '';
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    for (const one of Array.isArray(value) ? value : [value]) parameters.append(name, String(one));
  }
  return `?${parameters.toString()}`;
}

/**
 * The one door to the server. Adds the session key, turns every failure into an `ApiError` that
 * says what the page should do, and reports an expired session once, at the place it happens.
 */

import {
  asObject,
  decodeEvents,
  decodeInspection,
  decodeJob,
  decodeMessages,
  decodePeers,
  decodeRows,
  decodeServerInfo,
  decodeSuggestions,
  decodeSummary,
  decodeTimeline,
} from './decode';
import { fromByteOffset, toByteOffset } from './offsets';
import type {
  EventsPage,
  Inspection,
  JobAction,
  JobStatus,
  Peer,
  ResultRows,
  ServerInfo,
  ServerMessage,
  Suggestion,
  Summary,
  Timeline,
} from './types';

export type ApiErrorKind = 'unreachable' | 'unauthorized' | 'notFound' | 'rejected' | 'server';

export class ApiError extends Error {
  readonly kind: ApiErrorKind;
  readonly status: number;
  readonly messages: ServerMessage[];

  constructor(kind: ApiErrorKind, status: number, messages: ServerMessage[]) {
    super(messages.map((message) => message.text).join('\n') || `the server answered ${status}`);
    this.name = 'ApiError';
    this.kind = kind;
    this.status = status;
    this.messages = messages;
  }
}

export function isAbort(error: unknown): boolean {
  return error instanceof DOMException && error.name === 'AbortError';
}

export interface ClientOptions {
  /** Empty for the page's own origin. */
  baseUrl?: string;
  sessionKey?: string;
  onSessionExpired?: () => void;
}

interface Call {
  method?: 'GET' | 'POST';
  query?: Record<string, string | number>;
  form?: Record<string, string>;
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
const JSON_MODE = { output_mode: 'json' };

export class KarstClient {
  readonly #baseUrl: string;
  readonly #sessionKey: string | undefined;
  readonly #onSessionExpired: (() => void) | undefined;
  #completionAvailable = true;

  constructor(options: ClientOptions = {}) {
    this.#baseUrl = options.baseUrl ?? '';
    this.#sessionKey = options.sessionKey;
    this.#onSessionExpired = options.onSessionExpired;
  }

  async login(username: string, password: string): Promise<string> {
    const body = await this.#json('/services/auth/login', {
      method: 'POST',
      form: { username, password, ...JSON_MODE },
    });
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

  async createJob(request: JobRequest, signal?: AbortSignal): Promise<string> {
    const search = request.search.trim() || '*';
    const form: Record<string, string> = {
      search,
      timezone: request.timezone,
      status_buckets: '300',
      ...JSON_MODE,
    };
    if (request.earliest !== '') form.earliest_time = request.earliest;
    if (request.latest !== '') form.latest_time = request.latest;
    const body = await this.#json(JOBS, { method: 'POST', form, signal });
    return String(asObject(body).sid ?? '');
  }

  async job(sid: string, signal?: AbortSignal): Promise<JobStatus> {
    return decodeJob(await this.#json(jobPath(sid), { query: JSON_MODE, signal }));
  }

  async control(sid: string, action: JobAction): Promise<void> {
    await this.#json(jobPath(sid, 'control'), { method: 'POST', form: { action, ...JSON_MODE } });
  }

  async events(sid: string, page: Page, signal?: AbortSignal): Promise<EventsPage> {
    const query = { ...JSON_MODE, ...page, highlight: 1 };
    return decodeEvents(await this.#json(jobPath(sid, 'events'), { query, signal }));
  }

  async rows(
    sid: string,
    which: 'results' | 'results_preview',
    page: Page,
    signal?: AbortSignal,
  ): Promise<ResultRows> {
    const query = { output_mode: 'json_rows', ...page };
    return decodeRows(await this.#json(jobPath(sid, which), { query, signal }));
  }

  async timeline(sid: string, signal?: AbortSignal): Promise<Timeline> {
    return decodeTimeline(await this.#json(jobPath(sid, 'timeline'), { query: JSON_MODE, signal }));
  }

  async summary(sid: string, signal?: AbortSignal): Promise<Summary> {
    const query = { ...JSON_MODE, top_count: 10 };
    return decodeSummary(await this.#json(jobPath(sid, 'summary'), { query, signal }));
  }

  async inspect(sid: string, signal?: AbortSignal): Promise<Inspection> {
    return decodeInspection(
      await this.#json(jobPath(sid, 'inspector'), { query: JSON_MODE, signal }),
    );
  }

  /** Ends the session; where to go on, to end the one at the identity provider, too. */
  async logout(signal?: AbortSignal): Promise<string | null> {
    const body = asObject(
      await this.#json('/services/auth/logout', { method: 'POST', form: JSON_MODE, signal }),
    );
    return typeof body.redirect === 'string' ? body.redirect : null;
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
    const response = await this.#fetch(path, call);
    if (response.ok) return response;
    const messages = await errorMessages(response);
    if (response.status === 401 && this.#sessionKey !== undefined) this.#onSessionExpired?.();
    throw new ApiError(errorKind(response.status), response.status, messages);
  }

  async #fetch(path: string, call: Call): Promise<Response> {
    const headers: Record<string, string> = { Accept: 'application/json' };
    const cookies = call.cookies === true || this.#sessionKey === '';
    if (this.#sessionKey) headers.Authorization = `Splunk ${this.#sessionKey}`;
    const formKey = cookies ? formKeyCookie() : null;
    if (formKey !== null) headers['X-Splunk-Form-Key'] = formKey;
    try {
      return await fetch(this.#baseUrl + path + queryString(call.query), {
        method: call.method ?? 'GET',
        headers,
        body: call.form ? new URLSearchParams(call.form) : null,
        signal: call.signal ?? null,
        cache: 'no-store',
        credentials: cookies ? 'same-origin' : 'omit',
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

function jobPath(sid: string, part?: string): string {
  const job = `${JOBS}/${encodeURIComponent(sid)}`;
  return part ? `${job}/${part}` : job;
}

function queryString(query: Call['query']): string {
  if (!query) return '';
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) parameters.set(name, String(value));
  return `?${parameters.toString()}`;
}

function errorKind(status: number): ApiErrorKind {
  if (status === 401) return 'unauthorized';
  if (status === 404) return 'notFound';
  if (status >= 500) return status === 502 || status === 504 ? 'unreachable' : 'server';
  return 'rejected';
}

async function errorMessages(response: Response): Promise<ServerMessage[]> {
  const text = await response.text().catch(() => '');
  try {
    const messages = decodeMessages(asObject(JSON.parse(text)).messages);
    if (messages.length > 0) return messages;
  } catch {
    // Not JSON: a proxy's page, or nothing.
  }
  const fallback = `the server answered ${response.status} ${response.statusText}`.trim();
  return [{ type: 'ERROR', text: fallback }];
}

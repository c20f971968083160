/**
 * The search page: what is asked (and its address), how far it is, and what came out.
 * Everything that is shown is in the address; an address that comes from elsewhere never runs a search that
 * changes something before its reader has agreed.
 */

import { lazy, Suspense, useCallback, useEffect, useMemo, useRef, useState } from 'react';
import type { KarstClient } from '../api/client';
import { ApiError, isAbort } from '../api/client';
import { useConnection } from '../app/clientContext';
import { Notice } from '../app/Notice';
import { useLetterShortcuts, useZone } from '../app/preferences';
import { addressOf, navigate, paths, useQuery } from '../app/routing';
import { useShortcuts } from '../app/shortcuts';
import { useTitle } from '../app/useTitle';
import type { KnownFields } from '../editor/fields';
import type { OpenEvent } from '../events/openEvent';
import { rememberOpened } from '../home/opened';
import { readHistory, remember } from '../query/history';
import { Failed } from '../states/Failed';
import { Skeleton } from '../states/Skeleton';
import { DEFAULT_RANGE, shifted, type TimeRange } from '../time/timeRange';
import { askedCommands } from './askedCommands';
import { EmptyState } from './EmptyState';
import { Held } from './Held';
import { JobBar } from './JobBar';
import { Messages } from './Messages';
import { Results } from './Results';
import { SearchBar } from './SearchBar';
import styles from './SearchPage.module.css';
import type { JobStart } from './searchRun';
import { sharedExplain } from './sharedExplain';
import {
  addressAfter,
  liveAddress,
  type ResultView,
  readAddress,
  reportOf,
  type SearchAddress,
  type SearchRequest,
  sameRequest,
  writeAddress,
} from './urlState';
import { useSearchJob } from './useSearchJob';

const EstimateChip = lazy(() => import('./EstimateChip'));
const LiveTail = lazy(() => import('../live/LiveTail'));

interface SearchPageProps {
  client: KarstClient;
  app: string;
}

/** What stands in the bar if the address has no search, or one that cannot run. */
const draftOf = ({ request, invalid }: SearchAddress): SearchRequest =>
  request ?? { query: invalid?.query ?? '', range: DEFAULT_RANGE };

export function SearchPage({ client, app }: SearchPageProps) {
  const { username } = useConnection();
  const path = paths.search(app);
  const queryString = useQuery();
  const address = useMemo(() => readAddress(queryString), [queryString]);
  const [draft, setDraft] = useState<SearchRequest>(() => draftOf(address));
  const [history, setHistory] = useState(() => readHistory(localStorage));
  const { state, start, control, keep, reset } = useSearchJob(client);
  const shown = useRef<SearchRequest | null>(null);
  const sid = useRef<string | null>(null);
  sid.current = state.sid;
  const zone = useRef('UTC');
  [zone.current] = useZone();
  const isAsked = address.request !== null || address.invalid !== undefined;
  const reportError = useReport(app, isAsked ? null : address.report);
  const known = useRef<KnownFields>({ fields: [], columns: [] });
  const onFields = useCallback(
    (found: Partial<KnownFields>) => void Object.assign(known.current, found),
    [],
  );
  const [realTime, setRealTime] = useState<SearchRequest | null>(null);

  useTitle(address.request ? address.request.query || '*' : 'Search');

  const jobOf = useCallback(
    (request: SearchRequest): JobStart => ({
      ...request,
      timezone: zone.current,
      namespace: { owner: username, app },
    }),
    [app, username],
  );

  const explain = useMemo(() => sharedExplain(client), [client]);

  /** What the person has asked for here: it runs at once. */
  const run = useCallback(
    (request: SearchRequest) => {
      const isAgain = sameRequest(shown.current, request);
      shown.current = request;
      setDraft(request);
      setHistory(remember(localStorage, request.query));
      start(jobOf(request));
      navigate(writeAddress(path, addressAfter(address, request)), { replace: isAgain });
    },
    [path, start, jobOf, address],
  );

  // The address has changed: by the search just begun, by back and forward, or by a link.
  useEffect(() => {
    const { request } = address;
    if (request && address.isRealTime) setRealTime(request);
    if (request && address.live) {
      if (shown.current) reset();
      shown.current = null;
      setDraft(request);
      return;
    }
    if (!request) {
      if (shown.current) reset();
      shown.current = null;
      setDraft(draftOf(address));
      return;
    }
    const isShown = sameRequest(shown.current, request);
    if (isShown && (address.sid === null || address.sid === sid.current)) return;
    shown.current = request;
    setDraft(request);
    start(jobOf(request), {
      sid: address.sid,
      asksFor: (job) => askedCommands(client, job),
    });
  }, [address, client, start, reset, jobOf]);

  // The id of the job belongs to the address as soon as there is one: loading it again shows the same.
  useEffect(() => {
    const { sid, request, phase } = state;
    if (!sid || !request || phase === 'cancelled' || !sameRequest(request, shown.current)) return;
    if (address.sid !== sid && sameRequest(address.request, request)) {
      navigate(writeAddress(path, { ...address, sid }), { replace: true });
    }
  }, [state, address, path]);

  const runQuery = useCallback(
    (query: string) => run({ query, range: shown.current?.range ?? draft.range }),
    [run, draft.range],
  );
  const runRange = useCallback(
    (range: TimeRange) => run({ query: shown.current?.query ?? draft.query, range }),
    [run, draft.query],
  );
  const pickRange = (range: TimeRange) => {
    if (shown.current || draft.query.trim() !== '') run({ query: draft.query.trim(), range });
    else setDraft({ ...draft, range });
  };
  const follow = (live: boolean) => {
    if (live) navigate(liveAddress(path, { ...draft, query: draft.query.trim() }));
    else run(address.request ?? draft);
  };
  const showView = useCallback(
    (view: ResultView) => navigate(writeAddress(path, { ...address, view, event: undefined })),
    [path, address],
  );
  const showEvent = useCallback(
    (event: OpenEvent | null, replace = false) =>
      navigate(writeAddress(path, { ...address, event: event ?? undefined }), { replace }),
    [path, address],
  );
  const move = (by: 1 | -1) => {
    const { job } = state;
    const range = job && shifted(job.earliestTime, job.latestTime, by);
    if (range) runRange(range);
  };

  useEffect(
    () => () => {
      shown.current = null;
    },
    [],
  );

  const [letters] = useLetterShortcuts();
  useShortcuts(
    {
      '/': () => document.querySelector<HTMLElement>('[data-testid="search-input"]')?.focus(),
      t: () => document.querySelector<HTMLElement>('[data-testid="time-range"]')?.click(),
      '[': () => move(-1),
      ']': () => move(1),
    },
    letters,
  );
  const isRunning = state.phase === 'starting' || state.phase === 'running';

  return (
    <div className={styles.page}>
      <h1 className={styles.heading}>Search</h1>
      <section className={styles.ask} aria-label="Search">
        <SearchBar
          client={client}
          explain={explain}
          jobOf={jobOf}
          draft={draft}
          history={history}
          known={known.current}
          isRunning={isRunning}
          onDraft={setDraft}
          onRun={run}
          onRange={pickRange}
          onStop={() => control('finalize')}
          onLive={() => follow(true)}
        />
        <div className={styles.status}>
          <JobBar
            client={client}
            app={app}
            report={address.report}
            state={state}
            onControl={control}
            onKeep={keep}
          />
          <Suspense>
            <EstimateChip
              client={client}
              explain={explain}
              jobOf={jobOf}
              draft={draft}
              state={state}
            />
          </Suspense>
        </div>
        {address.invalid && <InvalidTimes times={address.invalid.times} />}
        {realTime && sameRequest(realTime, address.request) && !address.live && (
          <Notice kind="info">
            The link asks for a real-time search. It was run once over the same range; the live tail
            shows events as they arrive.
          </Notice>
        )}
        <Messages state={state} onRetry={() => state.request && run(state.request)} />
      </section>
      {reportError && <Failed error={reportError} />}
      {address.live && address.request ? (
        <Suspense fallback={<Skeleton lines={6} />}>
          <LiveTail
            app={app}
            query={address.request.query}
            onQuery={(query) => navigate(liveAddress(path, { query, range: draft.range }))}
            onStop={() => follow(false)}
          />
        </Suspense>
      ) : state.phase === 'held' && state.request ? (
        <Held
          query={state.request.query}
          commands={state.asked}
          onRun={() => state.request && run(state.request)}
        />
      ) : state.phase === 'idle' ? (
        !reportError && !address.invalid && <EmptyState history={history} onRun={runQuery} />
      ) : (
        <Results
          client={client}
          app={app}
          state={state}
          view={address.view}
          onView={showView}
          event={address.event ?? null}
          onEvent={showEvent}
          onQuery={runQuery}
          onRange={runRange}
          onFields={onFields}
          onRetry={() => state.request && run(state.request)}
        />
      )}
    </div>
  );
}

function InvalidTimes({ times }: { times: string[] }) {
  const names = times.map((text) => `"${text}"`).join(' and ');
  return (
    <Notice kind="error">
      {`Invalid time ${names} in the address: the search was not run. Choose a time range, or run it over the range that is shown.`}
    </Notice>
  );
}

/** Puts the search of a report into the address. */
function useReport(app: string, link: string | null): ApiError | null {
  const { client, username } = useConnection();
  const [error, setError] = useState<ApiError | null>(null);
  useEffect(() => {
    setError(null);
    if (link === null) return;
    const controller = new AbortController();
    const { name, ...namespace } = reportOf(link, app);
    client.report(namespace, name, controller.signal).then(
      (report) => {
        const href = addressOf(paths.search(app), { s: link });
        rememberOpened(localStorage, username, {
          kind: 'report',
          title: report.name,
          app: report.app,
          href,
        });
        const { earliest, latest } = report;
        const range = earliest === '' && latest === '' ? DEFAULT_RANGE : { earliest, latest };
        const request = { query: report.search, range };
        const next = { request, sid: null, report: link, view: null };
        navigate(writeAddress(paths.search(app), next), { replace: true });
      },
      (failure: unknown) => {
        if (!isAbort(failure) && failure instanceof ApiError) setError(failure);
      },
    );
    return () => controller.abort();
  }, [client, username, app, link]);
  return error;
}

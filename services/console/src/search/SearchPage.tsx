/** The search page: what is asked (and its address), how far it is, and what came out. */

import { useCallback, useEffect, useRef, useState } from 'react';
import type { KarstClient } from '../api/client';
import { useZone } from '../app/preferences';
import { readHistory, remember } from '../query/history';
import { DEFAULT_RANGE, type TimeRange } from '../time/timeRange';
import { EmptyState } from './EmptyState';
import { JobBar } from './JobBar';
import { Messages } from './Messages';
import { Results } from './Results';
import { SearchBar } from './SearchBar';
import styles from './SearchPage.module.css';
import { readUrl, type SearchRequest, sameRequest, writeUrl } from './urlState';
import { useSearchJob } from './useSearchJob';

interface SearchPageProps {
  client: KarstClient;
}

const initialRequest = () => readUrl(window.location.search);

export function SearchPage({ client }: SearchPageProps) {
  const [draft, setDraft] = useState<SearchRequest>(
    () => initialRequest() ?? { query: '', range: DEFAULT_RANGE },
  );
  const [history, setHistory] = useState(() => readHistory(localStorage));
  const { state, start, control, reset } = useSearchJob(client);
  const shown = useRef<SearchRequest | null>(null);
  const zone = useRef('UTC');
  [zone.current] = useZone();

  const show = useCallback(
    (request: SearchRequest) => {
      shown.current = request;
      setDraft(request);
      document.title = `${request.query || '*'} · Karst`;
      start({ ...request, timezone: zone.current });
    },
    [start],
  );

  const run = useCallback(
    (request: SearchRequest) => {
      if (!sameRequest(shown.current, request)) {
        window.history.pushState(null, '', writeUrl(request));
      }
      setHistory(remember(localStorage, request.query));
      show(request);
    },
    [show],
  );

  useEffect(() => {
    const follow = () => {
      const request = initialRequest();
      if (request) {
        show(request);
        return;
      }
      shown.current = null;
      document.title = 'Karst';
      setDraft({ query: '', range: DEFAULT_RANGE });
      reset();
    };
    const request = initialRequest();
    if (request) show(request);
    window.addEventListener('popstate', follow);
    return () => window.removeEventListener('popstate', follow);
  }, [show, reset]);

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
  const isRunning = state.phase === 'starting' || state.phase === 'running';

  return (
    <main className={styles.page}>
      <section className={styles.ask} aria-label="Search">
        <SearchBar
          client={client}
          draft={draft}
          history={history}
          isRunning={isRunning}
          onDraft={setDraft}
          onRun={run}
          onRange={pickRange}
          onStop={() => control('finalize')}
        />
        <JobBar client={client} state={state} onControl={control} />
        <Messages state={state} onRetry={() => state.request && run(state.request)} />
      </section>
      {state.phase === 'idle' ? (
        <EmptyState history={history} onRun={runQuery} />
      ) : (
        <Results client={client} state={state} onQuery={runQuery} onRange={runRange} />
      )}
    </main>
  );
}

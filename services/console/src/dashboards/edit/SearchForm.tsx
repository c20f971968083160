/** The search of an element or an input: its text with completion, and its range of time. */

import { NativeSelect } from '@mantine/core';
import { lazy, Suspense, useMemo } from 'react';
import { ApiError } from '../../api/client';
import { useConnection } from '../../app/clientContext';
import { useZone } from '../../app/preferences';
import { mistakesOf } from '../../editor/mistakes';
import { TimeRangePicker } from '../../time/TimeRangePicker';
import type { XmlElement } from '../model/xml';
import styles from './Editing.module.css';
import { readSearchParts } from './searchParts';
import { useDraft } from './useDraft';

const SplEditor = lazy(() => import('../../editor/SplEditor'));

interface SearchFormProps {
  app: string;
  element: XmlElement;
  /** Tokens of the time inputs of the page, with their labels. */
  times: { token: string; label: string }[];
  onQuery: (query: string) => void;
  onRange: (earliest: string, latest: string) => void;
}

const OWN = 'own';
const PAGE = 'page';

export function SearchForm({ app, element, times, onQuery, onRange }: SearchFormProps) {
  const { client, username } = useConnection();
  const [zone] = useZone();
  const parts = readSearchParts(element);
  const { draft, change, flush } = useDraft(parts?.query ?? '', onQuery);
  const kind = parts?.kind ?? 'query';
  // Tokens have no values here, and what follows a base is no search of its own.
  const isChecked = kind === 'query' && !draft.includes('$');
  const check = useMemo(
    () => async (text: string, signal: AbortSignal) => {
      if (!isChecked) return [];
      try {
        const namespace = { owner: username, app };
        const job = { search: text, earliest: '', latest: '', timezone: zone, namespace };
        await client.explain(job, signal);
      } catch (error) {
        if (error instanceof ApiError && error.kind === 'rejected') {
          return error.messages.flatMap((message) => mistakesOf(message.text, text));
        }
      }
      return [];
    },
    [client, username, app, zone, isChecked],
  );
  if (kind === 'report') {
    return (
      <p className={styles.hint}>
        Shows the report <b>{parts?.query}</b>, with its search and its range.
      </p>
    );
  }
  return (
    <>
      <div>
        <div className={styles.label} id="search-label">
          {kind === 'base' ? `Computed from the results of ${parts?.base}` : 'Search'}
        </div>
        {/* biome-ignore lint/a11y/noStaticElementInteractions: what is typed is told when the editor is left */}
        <div className={styles.search} onBlur={flush} data-testid="panel-search">
          <Suspense fallback={<textarea aria-label="Search" value={draft} readOnly rows={3} />}>
            <SplEditor
              value={draft}
              autoFocus={false}
              onChange={change}
              onRun={flush}
              onRecall={() => null}
              complete={(text, at, signal) => client.complete(text, at, signal)}
              check={check}
            />
          </Suspense>
        </div>
        <p className={styles.hint}>Enter runs it, Shift+Enter breaks the line.</p>
      </div>
      {kind === 'query' && (
        <RangeForm
          earliest={parts?.earliest ?? ''}
          latest={parts?.latest ?? ''}
          times={times}
          onRange={onRange}
        />
      )}
    </>
  );
}

interface RangeFormProps extends Pick<SearchFormProps, 'times' | 'onRange'> {
  earliest: string;
  latest: string;
}

function RangeForm({ earliest, latest, times, onRange }: RangeFormProps) {
  const token = /^\$(?:(.+)\.)?earliest\$$/.exec(earliest);
  const chosen = earliest === '' && latest === '' ? PAGE : token ? (token[1] ?? PAGE) : OWN;
  const isKnown = chosen === OWN || chosen === PAGE || times.some((one) => one.token === chosen);
  const data = [
    ...times.map((one) => ({ value: one.token, label: `Of the input ${one.label}` })),
    ...(isKnown ? [] : [{ value: chosen, label: `Of the input ${chosen} (is missing)` }]),
    { value: PAGE, label: 'All time, or that of the page' },
    { value: OWN, label: 'Its own' },
  ];
  const choose = (value: string) => {
    if (value === PAGE) onRange('', '');
    else if (value === OWN) onRange('-24h@h', 'now');
    else onRange(`$${value}.earliest$`, `$${value}.latest$`);
  };
  return (
    <>
      <NativeSelect
        size="xs"
        label="Time range"
        data={data}
        value={chosen}
        onChange={(event) => choose(event.currentTarget.value)}
      />
      {chosen === OWN && (
        <TimeRangePicker
          range={{ earliest, latest }}
          onChange={(range) => onRange(range.earliest, range.latest)}
        />
      )}
    </>
  );
}

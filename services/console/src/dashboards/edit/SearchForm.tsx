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
import { type FormProps, timeTokens } from './FormParts';
import {
  basesFor,
  readSearchParts,
  searchOf,
  withBase,
  withoutBase,
  writeQuery,
  writeRange,
} from './searchParts';
import { useDraft } from './useDraft';

const SplEditor = lazy(() => import('../../editor/SplEditor'));

interface SearchFormProps extends Pick<FormProps, 'app' | 'source' | 'onEdit'> {
  /** What has the search, or is it itself. */
  element: XmlElement;
}

const OWN = 'own';
const PAGE = 'page';

export function SearchForm({ app, source, element, onEdit }: SearchFormProps) {
  const { client, username } = useConnection();
  const [zone] = useZone();
  const { start } = element;
  const parts = readSearchParts(element);
  const { draft, change, flush } = useDraft(parts?.query ?? '', (query) =>
    onEdit((text) => writeQuery(text, start, query)),
  );
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
      <BaseChoice source={source} element={element} base={parts?.base ?? ''} onEdit={onEdit} />
      <div>
        <div className={styles.label} id="search-label">
          {kind === 'base' ? 'What is done with its results' : 'Search'}
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
          times={timeTokens(source)}
          onRange={(earliest, latest) =>
            onEdit((text) => writeRange(text, start, earliest, latest))
          }
        />
      )}
    </>
  );
}

/** Whether a search runs itself, or is computed from the results of another one. */
function BaseChoice(props: Omit<SearchFormProps, 'app'> & { base: string }) {
  const { source, element, base, onEdit } = props;
  const { start } = element;
  const bases = basesFor(source, searchOf(element));
  if (bases.length === 0 && base === '') return null;
  return (
    <NativeSelect
      size="xs"
      label="Computed from"
      data={[
        { value: '', label: 'Events: a search of its own' },
        ...(base === '' || bases.includes(base)
          ? []
          : [{ value: base, label: `${base} (is missing)` }]),
        ...bases.map((id) => ({ value: id, label: `The results of ${id}` })),
      ]}
      value={base}
      data-testid="base"
      onChange={(event) => {
        const next = event.currentTarget.value;
        onEdit((text) => (next === '' ? withoutBase(text, start) : withBase(text, start, next)));
      }}
    />
  );
}

interface RangeFormProps {
  earliest: string;
  latest: string;
  /** Tokens of the time inputs of the page, with their labels. */
  times: { token: string; label: string }[];
  onRange: (earliest: string, latest: string) => void;
}

function RangeForm({ earliest, latest, times, onRange }: RangeFormProps) {
  const token = /^\$(?:(.+)\.)?earliest\$$/.exec(earliest);
  const chosen = earliest === '' && latest === '' ? PAGE : token ? (token[1] ?? PAGE) : OWN;
  const isKnown = chosen === OWN || chosen === PAGE || times.some((one) => one.token === chosen);
  const data = [
    ...times.map((one) => ({ value: one.token, label: `Of the input ${one.label}` })),
    ...(isKnown ? [] : [{ value: chosen, label: `Of the input ${chosen} (is missing)` }]),
    { value: PAGE, label: 'All time, or the range of the page' },
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

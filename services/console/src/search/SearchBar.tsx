/** Where searches are typed, with their time range and the button that runs or stops them. */

import { ActionIcon, Button, Tooltip } from '@mantine/core';
import { IconActivity, IconPlayerStopFilled, IconSearch } from '@tabler/icons-react';
import { lazy, Suspense, useEffect, useRef, useState } from 'react';
import { ApiError, type KarstClient } from '../api/client';
import { isPlain } from '../compare/ranges';
import type { KnownFields } from '../editor/fields';
import { mistakesOf } from '../editor/mistakes';
import { AT_DRAFT, step } from '../query/history';
import { TimeRangePicker } from '../time/TimeRangePicker';
import type { TimeRange } from '../time/timeRange';
import styles from './SearchBar.module.css';
import type { JobStart } from './searchRun';
import type { Explain } from './sharedExplain';
import type { SearchRequest } from './urlState';

const SplEditor = lazy(() => import('../editor/SplEditor'));

interface SearchBarProps {
  client: KarstClient;
  explain: Explain;
  jobOf: (request: SearchRequest) => JobStart;
  draft: SearchRequest;
  history: string[];
  known: KnownFields;
  isRunning: boolean;
  onDraft: (draft: SearchRequest) => void;
  onRun: (request: SearchRequest) => void;
  onRange: (range: TimeRange) => void;
  onStop: () => void;
  /** Shows events as they arrive. */
  onLive: () => void;
}

const NO_LIVE = 'A live tail requires a search without commands, macros and subsearches';

export function SearchBar(props: SearchBarProps) {
  const { client, explain, jobOf, draft, history, isRunning } = props;
  const { known, onDraft, onRun, onRange, onStop, onLive } = props;
  const [cursor, setCursor] = useState(AT_DRAFT);
  const plain = useRef<HTMLTextAreaElement>(null);

  const canFollow = isPlain(draft.query);
  const run = () => {
    setCursor(AT_DRAFT);
    onRun({ ...draft, query: draft.query.trim() });
  };
  const setQuery = (query: string) => onDraft({ ...draft, query });
  const recall = (direction: 'older' | 'newer'): string | null => {
    const stepped = step(history, cursor, draft.query, direction);
    if (!stepped) return null;
    setCursor(stepped.cursor);
    setQuery(stepped.text);
    return stepped.text;
  };
  const check = async (text: string) => {
    try {
      // As the estimate asks, unless the text begins with spaces, which count in the places of mistakes.
      const { query: search, range, ...rest } = jobOf({ ...draft, query: text.trimEnd() });
      await explain({ search, ...range, ...rest });
      return [];
    } catch (error) {
      if (!(error instanceof ApiError) || error.kind !== 'rejected') return [];
      return error.messages.flatMap((message) => mistakesOf(message.text, text));
    }
  };

  return (
    <div className={styles.bar}>
      <div className={styles.field}>
        <Suspense
          fallback={<PlainField ref={plain} value={draft.query} onChange={setQuery} onRun={run} />}
        >
          <Editor
            plain={plain}
            value={draft.query}
            onChange={setQuery}
            onRun={run}
            onRecall={recall}
            complete={(text, at, signal) => client.complete(text, at, signal)}
            check={check}
            known={known}
          />
        </Suspense>
      </div>
      <div className={styles.buttons}>
        <TimeRangePicker range={draft.range} onChange={onRange} />
        <Tooltip label={canFollow ? 'Live tail: events as they arrive' : NO_LIVE}>
          <ActionIcon
            variant="default"
            size={34}
            aria-label={canFollow ? 'Live tail' : NO_LIVE}
            // Not `disabled`: its reason is read with the pointer and by Tab.
            aria-disabled={!canFollow}
            data-disabled={!canFollow || undefined}
            onClick={canFollow ? onLive : undefined}
            data-testid="live-tail"
          >
            <IconActivity size={16} />
          </ActionIcon>
        </Tooltip>
        {isRunning ? (
          <Tooltip label="Stop here and keep the results so far">
            <Button
              className={styles.run}
              color="red"
              variant="light"
              leftSection={<IconPlayerStopFilled size={14} />}
              onClick={onStop}
              data-testid="stop"
            >
              Stop
            </Button>
          </Tooltip>
        ) : (
          <Button
            className={styles.run}
            leftSection={<IconSearch size={15} />}
            onClick={run}
            data-testid="run"
          >
            Run
          </Button>
        )}
      </div>
    </div>
  );
}

/** Screens that are touched would show their keyboard over the page. */
const takesFocus = () => !window.matchMedia('(pointer: coarse)').matches;

interface PlainFieldProps {
  ref: React.RefObject<HTMLTextAreaElement | null>;
  value: string;
  onChange: (text: string) => void;
  onRun: () => void;
}

/** The field until the editor is there. */
function PlainField({ ref, value, onChange, onRun }: PlainFieldProps) {
  useEffect(() => {
    const end = ref.current?.value.length ?? 0;
    ref.current?.setSelectionRange(end, end);
    if (takesFocus()) ref.current?.focus();
  }, [ref]);
  return (
    <textarea
      ref={ref}
      className={styles.input}
      rows={Math.min(16, value.split('\n').length)}
      value={value}
      placeholder="Words, field=value, | commands"
      aria-label="Search"
      spellCheck={false}
      autoCapitalize="off"
      autoComplete="off"
      data-testid="plain-search-input"
      onChange={(event) => onChange(event.currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
        event.preventDefault();
        onRun();
      }}
    />
  );
}

type EditorProps = Omit<React.ComponentProps<typeof SplEditor>, 'autoFocus' | 'caret'> & {
  plain: React.RefObject<HTMLTextAreaElement | null>;
};

/** The editor in place of the plain field: with its caret, and its focus if it has it. */
function Editor({ plain, ...props }: EditorProps) {
  const [begin] = useState(() => {
    const focused = document.activeElement;
    const isFree = focused === null || focused === document.body || focused.id === 'main';
    return {
      caret: plain.current?.selectionStart,
      autoFocus: focused === plain.current ? focused !== null : isFree && takesFocus(),
    };
  });
  return <SplEditor {...props} caret={begin.caret} autoFocus={begin.autoFocus} />;
}

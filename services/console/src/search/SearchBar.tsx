/** Where searches are typed. Enter runs, Shift+Enter breaks the line, up and down recall. */

import { Button, Tooltip } from '@mantine/core';
import { IconPlayerStopFilled, IconSearch } from '@tabler/icons-react';
import { type KeyboardEvent, useEffect, useId, useLayoutEffect, useRef, useState } from 'react';
import type { KarstClient } from '../api/client';
import type { Suggestion } from '../api/types';
import { AT_DRAFT, step } from '../query/history';
import { TimeRangePicker } from '../time/TimeRangePicker';
import type { TimeRange } from '../time/timeRange';
import { CompletionList } from './CompletionList';
import styles from './SearchBar.module.css';
import type { SearchRequest } from './urlState';
import { useCompletion } from './useCompletion';

interface SearchBarProps {
  client: KarstClient;
  draft: SearchRequest;
  history: string[];
  isRunning: boolean;
  onDraft: (draft: SearchRequest) => void;
  onRun: (request: SearchRequest) => void;
  onRange: (range: TimeRange) => void;
  onStop: () => void;
}

const MOST_LINES = 16;

export function SearchBar(props: SearchBarProps) {
  const { client, draft, history, isRunning, onDraft, onRun, onRange, onStop } = props;
  const input = useRef<HTMLTextAreaElement>(null);
  const [cursor, setCursor] = useState(AT_DRAFT);
  const completion = useCompletion(client);
  const listId = useId();

  useLayoutEffect(() => {
    const element = input.current;
    if (!element) return;
    const lines = draft.query.split('\n').length;
    element.rows = Math.min(MOST_LINES, lines);
    while (element.scrollHeight > element.clientHeight + 2 && element.rows < MOST_LINES) {
      element.rows += 1;
    }
  }, [draft.query]);

  useEffect(() => input.current?.focus(), []);

  const run = () => {
    completion.close();
    setCursor(AT_DRAFT);
    onRun({ ...draft, query: draft.query.trim() });
  };

  const setQuery = (query: string, caret?: number) => {
    onDraft({ ...draft, query });
    if (caret !== undefined) {
      requestAnimationFrame(() => input.current?.setSelectionRange(caret, caret));
    }
  };

  const accept = (suggestion: Suggestion) => {
    const { from, to, insert } = suggestion;
    setQuery(draft.query.slice(0, from) + insert + draft.query.slice(to), from + insert.length);
    completion.close();
    input.current?.focus();
  };

  const recall = (direction: 'older' | 'newer'): boolean => {
    const stepped = step(history, cursor, draft.query, direction);
    if (!stepped) return false;
    setCursor(stepped.cursor);
    setQuery(stepped.text, stepped.text.length);
    return true;
  };

  const onKeyDown = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    const { key, shiftKey, currentTarget } = event;
    const isVertical = key === 'ArrowUp' || key === 'ArrowDown';
    if (completion.isOpen && isVertical) {
      completion.move(key === 'ArrowDown' ? 1 : -1);
    } else if (completion.isOpen && key === 'Escape') {
      completion.close();
    } else if (completion.isOpen && key === 'Tab' && !shiftKey) {
      accept(completion.active ?? (completion.suggestions[0] as Suggestion));
    } else if (completion.active && key === 'Enter' && !shiftKey) {
      accept(completion.active);
    } else if (key === 'Enter' && !shiftKey) {
      run();
    } else if (isVertical && !shiftKey && isAtEdge(currentTarget, key)) {
      if (!recall(key === 'ArrowUp' ? 'older' : 'newer')) return;
    } else {
      return;
    }
    event.preventDefault();
  };

  return (
    <div className={styles.bar}>
      <div className={styles.field}>
        <textarea
          ref={input}
          className={styles.input}
          rows={1}
          value={draft.query}
          placeholder="Search: words, field=value, then | commands"
          aria-label="Search"
          spellCheck={false}
          autoCapitalize="off"
          autoComplete="off"
          role="combobox"
          aria-expanded={completion.isOpen}
          aria-controls={listId}
          aria-activedescendant={
            completion.activeIndex >= 0 ? `${listId}-${completion.activeIndex}` : undefined
          }
          data-testid="search-input"
          onChange={(event) => {
            setCursor(AT_DRAFT);
            setQuery(event.currentTarget.value);
            completion.ask(event.currentTarget.value, event.currentTarget.selectionStart);
          }}
          onBlur={completion.close}
          onKeyDown={onKeyDown}
        />
        {completion.isOpen && (
          <CompletionList
            id={listId}
            suggestions={completion.suggestions}
            activeIndex={completion.activeIndex}
            onPick={accept}
          />
        )}
      </div>
      <TimeRangePicker range={draft.range} onChange={onRange} />
      {isRunning ? (
        <Tooltip label="Stop here and keep what has been found">
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
  );
}

/** Up on the first line and down on the last leave the text for the history. */
function isAtEdge(element: HTMLTextAreaElement, key: string): boolean {
  const { value, selectionStart, selectionEnd } = element;
  if (selectionStart !== selectionEnd) return false;
  return key === 'ArrowUp'
    ? !value.slice(0, selectionStart).includes('\n')
    : !value.slice(selectionStart).includes('\n');
}

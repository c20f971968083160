/** Everything the server has to say about the search: failures, warnings, limits that were hit. */

import { Button } from '@mantine/core';
import { explainError } from '../api/explain';
import { readable } from '../api/messageText';
import type { ServerMessage } from '../api/types';
import { Notice, type NoticeKind } from '../app/Notice';
import { isAboutKeptEvents } from './completeness';
import type { SearchState } from './searchRun';

interface MessagesProps {
  state: SearchState;
  onRetry: () => void;
}

const KINDS: Record<string, NoticeKind> = {
  FATAL: 'error',
  ERROR: 'error',
  WARN: 'warning',
  WARNING: 'warning',
  INFO: 'info',
};

export function Messages({ state, onRetry }: MessagesProps) {
  const { error, job, phase } = state;
  const messages = [...(job?.messages ?? []), ...(error?.messages ?? [])].filter(isForPeople);
  if (phase === 'failed' && messages.length === 0) {
    messages.push({ type: 'ERROR', text: 'The search failed; the server gave no reason.' });
  }
  const retry = phase === 'failed' && error !== null && explainError(error).retry && (
    <Button size="compact-xs" variant="light" color="red" onClick={onRetry}>
      Try again
    </Button>
  );
  const advice = phase === 'failed' && error ? explainError(error).advice : '';
  return messages.map((message, index) => (
    <Notice
      // biome-ignore lint/suspicious/noArrayIndexKey: messages have no identity of their own
      key={`${index}:${message.text}`}
      kind={KINDS[message.type] ?? 'info'}
      code={message.text.includes('\n')}
      action={index === messages.length - 1 && retry}
    >
      {readable(message.text)}
      {advice !== '' && index === messages.length - 1 && `\n${advice}`}
    </Notice>
  ));
}

/** Notes are behind the badge of completeness; the list of events says how many it has. */
const isForPeople = (message: ServerMessage) =>
  message.type !== 'DEBUG' &&
  message.type !== 'INFO' &&
  message.text !== '' &&
  !isAboutKeptEvents(message.text);

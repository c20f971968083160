/** How far a rolling restart is, and what ends it before its end. */

import { Button } from '@mantine/core';
import type { Peer } from '../api/types';
import { useClient } from '../app/clientContext';
import { Notice } from '../app/Notice';
import { useSubmit } from '../app/useSubmit';
import styles from './ClusterPage.module.css';
import {
  awayOf,
  cancelRestart,
  labelled,
  labelOf,
  nameOf,
  progressText,
  type RestartState,
} from './rollingRestart';

interface RestartProgressProps {
  state: RestartState;
  peers: Peer[];
  mayCancel: boolean;
  onCancelled: () => void;
}

export function RestartProgress({ state, peers, mayCancel, onCancelled }: RestartProgressProps) {
  const client = useClient();
  const { busy, error, submit } = useSubmit();
  const text = progressText(state);
  if (text === null) return null;
  if (!state.isRunning) {
    return state.stopped === null ? (
      <p className={styles.last} data-testid="restart-last">
        {text}
      </p>
    ) : (
      <div className={styles.stopped} data-testid="restart-last">
        <Notice kind="warning">{labelled(text, peers)}</Notice>
      </div>
    );
  }
  const cancel = async () => {
    if (await submit(() => cancelRestart(client))) onCancelled();
  };
  const all = state.waiting.length + state.restarting.length + state.back.length;
  const away = awayOf(peers, state.restarting);
  const names = (ids: string[]) => ids.map((id) => nameOf(peers, id)).join(', ') || 'none';
  return (
    <section className={styles.restart} aria-label="Rolling restart" data-testid="restart-progress">
      <header>
        <h2>Rolling restart</h2>
        <span role="status">{text}</span>
        {mayCancel && (
          <Button size="xs" variant="default" loading={busy} onClick={cancel}>
            Cancel the restart
          </Button>
        )}
      </header>
      {error && <Notice kind="error">{error.message}</Notice>}
      <progress max={all} value={state.back.length} aria-label={text} />
      <dl>
        <dt>Restarting</dt>
        <dd>{names(state.restarting)}</dd>
        <dt>Waiting, in this order</dt>
        <dd>{names(state.waiting)}</dd>
        <dt>Back</dt>
        <dd>{names(state.back)}</dd>
      </dl>
      {away.length > 0 && (
        <Notice kind="warning">
          {`Nothing more is restarted until ${away
            .map((peer) => labelOf(peers, peer))
            .join(', ')} ${away.length === 1 ? 'answers or is' : 'answer or are'} removed.`}
        </Notice>
      )}
      {mayCancel && (
        <p className={styles.last}>
          After a cancellation, processes that are already restarting continue.
        </p>
      )}
    </section>
  );
}

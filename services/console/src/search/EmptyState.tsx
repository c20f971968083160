import { Kbd } from '@mantine/core';
import styles from './EmptyState.module.css';

interface EmptyStateProps {
  history: string[];
  onRun: (query: string) => void;
}

const EXAMPLES = [
  { query: 'index=*', about: 'Everything in the time range' },
  { query: 'error OR fail*', about: 'Words, with wildcards' },
  { query: 'index=* | stats count by index, sourcetype', about: 'Which data exists' },
  { query: 'status>=500 | timechart count by host', about: 'Server errors over time' },
  { query: 'index=* | top limit=20 source', about: 'Sources of events' },
  {
    query: 'index=* | timechart span=5m count by sourcetype',
    about: 'Volume of events, by source type',
  },
];

export function EmptyState({ history, onRun }: EmptyStateProps) {
  return (
    <div className={styles.empty} data-testid="empty">
      <section>
        <h2>Try</h2>
        <ul>
          {EXAMPLES.map(({ query, about }) => (
            <li key={query}>
              <button type="button" onClick={() => onRun(query)}>
                <code>{query}</code>
              </button>
              <span>{about}</span>
            </li>
          ))}
        </ul>
      </section>
      {history.length > 0 && (
        <section>
          <h2>Recent searches</h2>
          <ul>
            {history.slice(0, 10).map((query) => (
              <li key={query}>
                <button type="button" onClick={() => onRun(query)}>
                  <code>{query}</code>
                </button>
              </li>
            ))}
          </ul>
        </section>
      )}
      <p className={styles.keys}>
        <Kbd size="xs">Enter</Kbd> runs · <Kbd size="xs">Shift</Kbd> <Kbd size="xs">Enter</Kbd> new
        line · <Kbd size="xs">↑</Kbd> <Kbd size="xs">↓</Kbd> earlier searches
      </p>
    </div>
  );
}

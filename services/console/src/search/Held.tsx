/** A search of a link that changes something, before it runs. */

import { Button } from '@mantine/core';
import { IconShieldQuestion } from '@tabler/icons-react';
import code from '../app/Code.module.css';
import { isHidden } from '../query/writes';
import styles from './Held.module.css';

interface HeldProps {
  query: string;
  commands: string[];
  onRun: () => void;
}

export function Held({ query, commands, onRun }: HeldProps) {
  const hidden = commands.filter(isHidden);
  const writing = commands.filter((name) => !isHidden(name));
  return (
    <section className={styles.held} role="alert" data-testid="held">
      <h2>
        <IconShieldQuestion size={18} aria-hidden="true" />
        Run the search of this link?
      </h2>
      {writing.length > 0 && (
        <p>
          It has effects outside the search: <b>{writing.join(', ')}</b>. Run it only if you know
          where the link is from.
        </p>
      )}
      {hidden.length > 0 && (
        <p>
          It runs a search that its text does not show (<b>{hidden.join(', ')}</b>) and that may
          have effects.
        </p>
      )}
      <pre className={code.code}>{query}</pre>
      <Button size="xs" color="red" variant="light" onClick={onRun} data-testid="run-held">
        Run it
      </Button>
    </section>
  );
}

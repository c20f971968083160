/** A text that is taken elsewhere: a secret, a command, the text of a file. */

import { Button } from '@mantine/core';
import { IconCheck, IconCopy } from '@tabler/icons-react';
import { useState } from 'react';
import styles from './Objects.module.css';

function CopyButton({ text, label }: { text: string; label: string }) {
  const [done, setDone] = useState(false);
  const copy = () => {
    navigator.clipboard?.writeText(text).then(
      () => setDone(true),
      () => setDone(false),
    );
  };
  return (
    <Button
      size="compact-xs"
      variant="default"
      aria-label={`Copy ${label}`}
      leftSection={done ? <IconCheck size={13} /> : <IconCopy size={13} />}
      onClick={copy}
    >
      {done ? 'Copied' : 'Copy'}
    </Button>
  );
}

export function Secret({ label, value }: { label: string; value: string }) {
  return (
    <div className={styles.secret}>
      <code data-testid="secret">{value}</code>
      <CopyButton text={value} label={label} />
    </div>
  );
}

/** A command or a part of a file, with its name. */
export function Snippet({ label, text }: { label: string; text: string }) {
  return (
    <div className={styles.snippet}>
      <header>
        <span>{label}</span>
        <CopyButton text={text} label={label} />
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls sideways is reached by keys */}
      <pre className={styles.code} tabIndex={0}>
        {text}
      </pre>
    </div>
  );
}

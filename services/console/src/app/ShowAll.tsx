/** How many of a list are shown, and the way to the others. */

import { Button } from '@mantine/core';
import { grouped } from './format';
import styles from './List.module.css';

interface ShowAllProps {
  shown: number;
  all: number;
  onAll: () => void;
}

export function ShowAll({ shown, all, onAll }: ShowAllProps) {
  if (shown >= all) return null;
  return (
    <p className={styles.rest}>
      {grouped(shown)} of {grouped(all)} are shown.{' '}
      <Button size="compact-sm" variant="default" onClick={onAll}>
        Show all
      </Button>
    </p>
  );
}

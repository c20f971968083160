/** Why the results of a job cannot be read. If the server has lost the job, a button runs the search again. */

import { Button } from '@mantine/core';
import type { ApiError } from '../api/client';
import { Notice } from '../app/Notice';
import { explainLostResults } from './lostResults';

interface JobErrorProps {
  error: ApiError;
  /** The search of the job. */
  query: string;
  onAgain: () => void;
}

export function JobError({ error, query, onAgain }: JobErrorProps) {
  const again = error.kind === 'notFound' && (
    <Button size="compact-xs" variant="light" color="red" onClick={onAgain}>
      Run it again
    </Button>
  );
  return (
    <Notice kind="error" action={again}>
      {explainLostResults(error, query)}
    </Notice>
  );
}

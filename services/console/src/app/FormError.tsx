/** Why a form was refused, and what helps. */

import { useEffect, useRef } from 'react';
import type { ApiError } from '../api/client';
import { explainError } from '../api/explain';
import { Notice } from './Notice';

interface FormErrorProps {
  error: ApiError | null;
  /** Whether what helps is said, too: not where the server's answer is about something else than usual. */
  isAdvised?: boolean;
}

export function FormError({ error, isAdvised = true }: FormErrorProps) {
  const place = useRef<HTMLDivElement>(null);
  // A long form may be scrolled to its button.
  useEffect(() => {
    if (error) place.current?.scrollIntoView({ block: 'nearest' });
  }, [error]);
  if (!error) return null;
  const advice = isAdvised ? explainError(error).advice : '';
  return (
    <div ref={place}>
      <Notice kind="error">{`${error.message}\n${advice}`.trim()}</Notice>
    </div>
  );
}

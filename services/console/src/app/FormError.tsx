/** Why a form was refused, and what helps. */

import type { ApiError } from '../api/client';
import { explainError } from '../api/explain';
import { Notice } from './Notice';

export function FormError({ error }: { error: ApiError | null }) {
  if (!error) return null;
  return <Notice kind="error">{`${error.message}\n${explainError(error).advice}`.trim()}</Notice>;
}

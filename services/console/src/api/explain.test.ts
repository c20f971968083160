import { describe, expect, it } from 'vitest';
import { ApiError } from './client';
import { explainError, missingCapability } from './explain';

const error = (kind: ApiError['kind'], text: string, after: number | null = null) =>
  new ApiError(kind, 0, [{ type: 'ERROR', text }], after);

describe('what helps against a failure', () => {
  it('names the capability to ask for', () => {
    const refused = error('forbidden', 'the user "ann" lacks the capability edit_user');
    expect(missingCapability(refused)).toBe('edit_user');
    expect(explainError(refused).advice).toContain('edit_user');
    expect(missingCapability(error('forbidden', 'CSRF validation failed'))).toBeNull();
  });

  it('says when to try again', () => {
    const busy = explainError(error('busy', 'too many searches', 5));
    expect(busy.retry).toBe(true);
    expect(busy.advice).toContain('5 s');
  });

  it('does not offer to repeat what cannot succeed', () => {
    for (const kind of ['rejected', 'forbidden', 'notFound', 'conflict', 'tooLarge'] as const) {
      expect(explainError(error(kind, 'x')).retry).toBe(false);
    }
  });
});

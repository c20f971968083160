import { onlineManager } from '@tanstack/react-query';
import { afterEach, expect, it } from 'vitest';
import { newQueries } from './queries';

afterEach(() => onlineManager.setOnline(true));

it('the server is asked also if the browser thinks that it is offline', async () => {
  onlineManager.setOnline(false);
  const asked = newQueries().fetchQuery({ queryKey: ['x'], queryFn: async () => 'answer' });
  expect(await asked).toBe('answer');
});

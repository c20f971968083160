import type { KarstClient } from '../api/client';

/** Hands a job's results to the browser as a file. */
export async function saveJobResults(
  client: KarstClient,
  sid: string,
  mode: 'csv' | 'json',
): Promise<void> {
  const url = URL.createObjectURL(await client.download(sid, mode));
  const link = document.createElement('a');
  link.href = url;
  link.download = `karst-${sid}.${mode}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

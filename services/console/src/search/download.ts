import type { KarstClient } from '../api/client';
import { csvOf, jsonOf, mergedPages, type RowPage } from './exportRows';

export type FileKind = 'csv' | 'json';

const PAGE = 20_000;
const MEDIA_TYPES: Record<FileKind, string> = { csv: 'text/csv', json: 'application/json' };

/** Hands all results that the server keeps of a job to the browser as a file. */
export async function saveJobResults(
  client: KarstClient,
  sid: string,
  kind: FileKind,
): Promise<void> {
  const all = mergedPages(await allPages(client, sid));
  const text = kind === 'csv' ? csvOf(all) : jsonOf(all);
  const url = URL.createObjectURL(new Blob([text], { type: MEDIA_TYPES[kind] }));
  const link = document.createElement('a');
  link.href = url;
  link.download = `karst-${sid}.${kind}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Reads on until a page is empty, whatever page size the server allows. */
async function allPages(client: KarstClient, sid: string): Promise<RowPage[]> {
  const pages: RowPage[] = [];
  for (let offset = 0; ; ) {
    const page = await client.rows(sid, 'results', { offset, count: PAGE });
    if (page.rows.length === 0) return pages.length > 0 ? pages : [page];
    pages.push(page);
    offset += page.rows.length;
  }
}

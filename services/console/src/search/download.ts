/** Results of a search as a file. */

import { ApiError, type JobRequest, type KarstClient } from '../api/client';
import type { JobStatus } from '../api/types';
import { grouped } from '../app/format';
import { withSearch } from '../query/typed';
import { surelyReads } from '../query/writes';
import { lacksEvents } from './completeness';
import { partsOf, readExport } from './exportEvents';
import { csvOf, jsonOf, mergedPages, type RowPage } from './exportRows';

export type FileKind = 'csv' | 'json';

type RowsClient = Pick<KarstClient, 'rows' | 'exportOf'>;

const PAGE = 20_000;
/** Bytes of a search in an address: some proxies refuse addresses above 8 KB. */
const LONGEST = 4_000;
const MEDIA_TYPES: Record<FileKind, string> = { csv: 'text/csv', json: 'application/json' };

export interface Saved {
  file: Blob;
  /** What the file does not have, and why; null if it has all. */
  missing: string | null;
}

/**
 * All results of a finished job. `request`: its search and its range, for events that the job does not keep.
 * `onRows` hears how many of these there are so far.
 */
export async function resultsFile(
  client: RowsClient,
  { sid, job, request }: { sid: string; job: JobStatus; request: JobRequest },
  kind: FileKind,
  onRows: (rows: number) => void,
  signal?: AbortSignal,
): Promise<Saved> {
  const type = MEDIA_TYPES[kind];
  let reason = 'a search that was stopped has only the events that its job keeps';
  if (lacksEvents(job) && !job.isFinalized) {
    try {
      const answer = await client.exportOf(request, methodFor(withSearch(request.search)), signal);
      const exported = await readExport(answer, onRows);
      const file = new Blob(await partsOf(exported, kind), { type });
      return { file, missing: exported.warnings.join('; ') || null };
    } catch (error) {
      // A search with a command that changes something is not run again: the events that are kept are saved.
      const isRefused = error instanceof ApiError && /^(?:rejected|forbidden)$/.test(error.kind);
      if (!isRefused) throw error;
      reason = reasonOf(error);
    }
  }
  const all = mergedPages(await allPages(client, sid, signal));
  const file = new Blob([kind === 'csv' ? csvOf(all) : jsonOf(all)], { type });
  const cut = `Saved ${grouped(all.rows.length)} of ${grouped(job.eventCount)} events: ${reason}`;
  return { file, missing: lacksEvents(job) ? cut : null };
}

/** GET, with which the server refuses what writes, unless the search is too long for it and surely does not write. */
const methodFor = (search: string): 'GET' | 'POST' =>
  new URLSearchParams({ search }).toString().length > LONGEST && surelyReads(search)
    ? 'POST'
    : 'GET';

function reasonOf({ status, message }: ApiError): string {
  if (status === 414 || status === 431) return 'the search is too long for an export of all events';
  return message.includes('GET request')
    ? 'a search that changes something does not run again'
    : message;
}

/** Hands a file to the browser. */
export function saveFile(file: Blob, name: string): void {
  const url = URL.createObjectURL(file);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}

/** Reads on until a page is empty, whatever page size the server allows. */
async function allPages(
  client: RowsClient,
  sid: string,
  signal: AbortSignal | undefined,
): Promise<RowPage[]> {
  const pages: RowPage[] = [];
  for (let offset = 0; ; ) {
    const page = await client.rows(sid, 'results', { offset, count: PAGE }, signal);
    if (page.rows.length === 0) return pages.length > 0 ? pages : [page];
    pages.push(page);
    offset += page.rows.length;
  }
}

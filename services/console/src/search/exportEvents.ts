/**
 * All events of a search as a file, from the export of the server: a job keeps only the newest ones. Rows are held in
 * blobs, which a browser may keep on disk. Guarantees that an export that ends early is an error and not a file.
 */

import { asFieldValue, asObject, decodeMessages } from '../api/decode';
import { ApiError } from '../api/errors';
import { piecesOf } from '../api/pieces';
import type { FileKind } from './download';
import { csvLines } from './exportRows';

export interface Exported {
  /** Of all rows, in the order in which they first occur. */
  fields: string[];
  rows: number;
  /** JSON objects with commas and line breaks between them. */
  chunks: Blob[];
  /** Why something is missing; notes, such as how long the search waited, are not among them. */
  warnings: string[];
}

const CHUNK = 10_000;
const BETWEEN = ',\n';

/** Reads an export to its end. `onRows` hears how many rows there are so far. */
export async function readExport(
  answer: Response,
  onRows: (rows: number) => void,
): Promise<Exported> {
  const fields = new Set<string>();
  const exported: Exported = { fields: [], rows: 0, chunks: [], warnings: [] };
  let chunk: string[] = [];
  let isWhole = false;
  const endChunk = () => {
    if (chunk.length > 0) exported.chunks.push(new Blob([chunk.join(BETWEEN)]));
    exported.rows += chunk.length;
    chunk = [];
    onRows(exported.rows);
  };
  for await (const line of linesOf(answer)) {
    if (line === '') continue;
    const { result, messages, lastrow } = asObject(JSON.parse(line));
    for (const message of decodeMessages(messages)) {
      if (/^(?:FATAL|ERROR)$/.test(message.type)) throw new ApiError('server', 200, [message]);
      if (/^WARN/.test(message.type)) exported.warnings.push(message.text);
    }
    if (result !== undefined) {
      const row = asObject(result);
      for (const field of Object.keys(row)) fields.add(field);
      chunk.push(JSON.stringify(row));
      if (chunk.length === CHUNK) endChunk();
    }
    isWhole ||= lastrow === true;
  }
  endChunk();
  if (!isWhole) {
    const text = 'the export of the server ended before its last row: save the results again';
    throw new ApiError('unreachable', 200, [{ type: 'ERROR', text }]);
  }
  return { ...exported, fields: [...fields] };
}

async function* linesOf(response: Response): AsyncGenerator<string> {
  const last = yield* piecesOf(response, '\n');
  yield last;
}

/** The text of the file, in parts. */
export async function partsOf({ fields, chunks }: Exported, kind: FileKind): Promise<BlobPart[]> {
  if (kind === 'json') {
    const rows = chunks.flatMap((chunk, at) => (at === 0 ? [chunk] : [BETWEEN, chunk]));
    return ['[\n', ...rows, '\n]\n'];
  }
  const parts: BlobPart[] = [csvLines([fields])];
  for (const chunk of chunks) {
    // One after the other, so that the text of one is in memory at a time.
    const rows = JSON.parse(`[${await chunk.text()}]`) as Record<string, unknown>[];
    const cells = rows.map((row) =>
      fields.map((field) => (row[field] == null ? null : asFieldValue(row[field]))),
    );
    parts.push(new Blob([csvLines(cells)]));
  }
  return parts;
}

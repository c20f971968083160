import { expect, it, vi } from 'vitest';
import { ApiError, type KarstClient } from '../api/client';
import type { JobStatus } from '../api/types';
import { type FileKind, resultsFile } from './download';
import { partsOf, readExport } from './exportEvents';

const answer = (lines: object[]) =>
  new Response(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
const row = (result: object) => ({ preview: false, result });
const END = { preview: false, lastrow: true };

const textOf = async (lines: object[], kind: FileKind) =>
  new Blob(await partsOf(await readExport(answer(lines), () => {}), kind)).text();

it('a CSV file has the fields of all events, also of those that come late', async () => {
  const lines = [row({ a: '1' }), row({ a: ['x', 'y'], b: 'say "é"' }), END];
  expect(await textOf(lines, 'csv')).toBe('a,b\r\n1,\r\n"x\ny","say ""é"""\r\n');
});

it('a JSON file is a list, over the bounds of chunks', async () => {
  const rows = Array.from({ length: 20_001 }, (_, at) => ({ n: `${at}` }));
  const text = await textOf([...rows.map(row), END], 'json');
  expect(JSON.parse(text)).toEqual(rows);
});

it('warnings say why something is missing, and notes do not', async () => {
  const messages = [
    { type: 'INFO', text: 'No matching fields exist.' },
    { type: 'WARN', text: 'a bucket could not be read' },
  ];
  const exported = await readExport(answer([row({ a: '1' }), { messages }, END]), () => {});
  expect(exported.warnings).toEqual(['a bucket could not be read']);
});

it('an export without events is a file without rows', async () => {
  expect(JSON.parse(await textOf([END], 'json'))).toEqual([]);
});

it('an export that ends early or fails is an error', async () => {
  await expect(readExport(answer([row({ a: '1' })]), () => {})).rejects.toThrow('before its last');
  const failed = [row({ a: '1' }), { messages: [{ type: 'FATAL', text: 'the disk is gone' }] }];
  await expect(readExport(answer(failed), () => {})).rejects.toThrow('the disk is gone');
});

const job = {
  reportSearch: null,
  eventIsTruncated: true,
  isFinalized: false,
  eventCount: 3,
} as JobStatus;
const request = { search: 'index=a', earliest: '1', latest: '2', timezone: 'UTC' };

function clientWith(kept: number) {
  const exportOf = vi.fn(async () =>
    answer([row({ a: '1' }), row({ a: '2' }), row({ a: '3' }), END]),
  );
  const rows = vi.fn(async (_sid: string, _which: string, { offset }: { offset: number }) => ({
    fields: ['a'],
    rows: offset === 0 ? Array.from({ length: kept }, (_, at) => [`${at + 1}`]) : [],
  }));
  return { exportOf, rows } as unknown as Pick<KarstClient, 'rows' | 'exportOf'>;
}

it('events that the job does not keep are in the file', async () => {
  const client = clientWith(2);
  const saved = await resultsFile(client, { sid: 's', job, request }, 'csv', () => {});
  expect(await saved.file.text()).toBe('a\r\n1\r\n2\r\n3\r\n');
  expect(saved.missing).toBeNull();
  expect(client.exportOf).toHaveBeenCalledWith(request, 'GET', undefined);
});

it('a job that keeps all its rows is not run again', async () => {
  const client = clientWith(3);
  const whole = { ...job, eventIsTruncated: false };
  const saved = await resultsFile(client, { sid: 's', job: whole, request }, 'csv', () => {});
  expect(await saved.file.text()).toBe('a\r\n1\r\n2\r\n3\r\n');
  expect(client.exportOf).not.toHaveBeenCalled();
});

it('a search that may not run again says what its file does not have', async () => {
  const client = clientWith(2);
  const refusal = new ApiError('rejected', 400, [
    { type: 'ERROR', text: 'collect writes, which is not allowed in a GET request' },
  ]);
  client.exportOf = async () => {
    throw refusal;
  };
  const saved = await resultsFile(client, { sid: 's', job, request }, 'csv', () => {});
  expect(await saved.file.text()).toBe('a\r\n1\r\n2\r\n');
  expect(saved.missing).toMatch('a search that changes something does not run again');
});

it('a long search is sent with POST only if it surely changes nothing', async () => {
  const methodOf = async (search: string) => {
    const client = clientWith(2);
    await resultsFile(client, { sid: 's', job, request: { ...request, search } }, 'csv', () => {});
    return vi.mocked(client.exportOf).mock.calls[0]?.[1];
  };
  const long = `index=a user IN (${'"ann", '.repeat(1_000)}"bob")`;
  expect(await methodOf(long)).toBe('POST');
  expect(await methodOf(`${long} | collect index=b`)).toBe('GET');
  expect(await methodOf(`${long} \`macro\``)).toBe('GET');
});

it('a search that is too long for an address says what its file does not have', async () => {
  const client = clientWith(2);
  client.exportOf = async () => {
    throw new ApiError('rejected', 414, [
      { type: 'ERROR', text: 'the server answered 414 URI Too Long' },
    ]);
  };
  const saved = await resultsFile(client, { sid: 's', job, request }, 'csv', () => {});
  expect(saved.missing).toBe(
    'Saved 2 of 3 events: the search is too long for an export of all events',
  );
});

it('a search that was stopped says what its file does not have', async () => {
  const stopped = { ...job, isFinalized: true };
  const saved = await resultsFile(
    clientWith(2),
    { sid: 's', job: stopped, request },
    'csv',
    () => {},
  );
  expect(saved.missing).toMatch('Saved 2 of 3 events');
});

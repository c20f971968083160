import { expect, it, vi } from 'vitest';
import { ApiError } from '../api/client';
import { decodeJob } from '../api/decode';
import type { JobStatus } from '../api/types';
import { IDLE, type JobClient, reduce, type SearchEvent, SearchRun } from './searchRun';

const REQUEST = { query: 'error', range: { earliest: '-1h', latest: 'now' }, timezone: 'UTC' };
const AWAY = new ApiError('unreachable', 0, [{ type: 'ERROR', text: 'away' }]);
const GONE = new ApiError('notFound', 404, [{ type: 'FATAL', text: 'Unknown sid.' }]);

const NOTHING = { dollars: 0, storeRequests: 0, bytes: { dram: 0, nvme: 0, store: 0 } };

const status = (content: object) => decodeJob({ entry: [{ content }] });
const RUNNING = status({ dispatchState: 'RUNNING', doneProgress: 0.5 });
const DONE = status({ dispatchState: 'DONE', isDone: true });

/** A server that gives these answers to polls, one after the other, the last one for ever. */
function scripted(...answers: (JobStatus | ApiError)[]) {
  let next = 0;
  const answer = () => {
    const found = answers[Math.min(next, answers.length - 1)] as JobStatus | ApiError;
    next += 1;
    if (found instanceof ApiError) throw found;
    return found;
  };
  const client = {
    createJob: vi.fn(async () => 'S1'),
    job: vi.fn(async () => answer()),
    jobStatuses: vi.fn(async ([sid = '']: string[]) => {
      try {
        return { jobs: new Map([[sid, { status: answer(), cost: NOTHING }]]), unknown: [] };
      } catch (error) {
        if (error !== GONE) throw error;
        return { jobs: new Map(), unknown: [sid] };
      }
    }),
    // Polls: the page came over HTTP/1.1.
    jobStream: vi.fn(async () => new Response('')),
    control: vi.fn(async () => {}),
  } satisfies JobClient;
  const events: SearchEvent[] = [];
  const run = new SearchRun(client, (event) => events.push(event));
  return { client, run, events, kinds: () => events.map((event) => event.type) };
}

it('reports from the start to the end', async () => {
  const { run, client, kinds } = scripted(RUNNING, DONE);
  await run.follow(REQUEST);
  expect(kinds()).toEqual(['started', 'created', 'progress', 'progress']);
  expect(client.createJob).toHaveBeenCalledWith({
    search: 'error',
    earliest: '-1h',
    latest: 'now',
    timezone: 'UTC',
    namespace: undefined,
  });
});

it('asks again when the server is away for a moment', async () => {
  const { run, kinds } = scripted(AWAY, DONE);
  await run.follow(REQUEST);
  expect(kinds()).toEqual(['started', 'created', 'interrupted', 'progress']);
});

it('fails when the job is gone', async () => {
  const { run, events } = scripted(GONE);
  await run.follow(REQUEST);
  expect(events.at(-1)).toEqual({ type: 'failed', error: GONE });
});

it('when abandoned cancels the job and says no more', async () => {
  const { run, client, kinds } = scripted(RUNNING);
  const followed = run.follow(REQUEST);
  await vi.waitFor(() => expect(kinds()).toContain('progress'));
  run.abandon();
  const before = kinds().length;
  await followed;
  expect(client.control).toHaveBeenCalledWith('S1', 'cancel');
  expect(kinds()).toHaveLength(before);
});

it('when abandoned before the job exists cancels it as soon as it does', async () => {
  const { run, client } = scripted(RUNNING);
  const followed = run.follow(REQUEST);
  run.abandon();
  await followed;
  expect(client.control).toHaveBeenCalledWith('S1', 'cancel');
  expect(client.jobStatuses).not.toHaveBeenCalled();
});

it('an address with the id of a kept job shows it without a new search', async () => {
  const { run, client, kinds } = scripted(DONE);
  const asksFor = vi.fn(async () => ['delete']);
  await run.follow(REQUEST, { sid: 'kept', asksFor });
  expect(kinds()).toEqual(['started', 'created', 'progress']);
  expect(client.createJob).not.toHaveBeenCalled();
  expect(asksFor).not.toHaveBeenCalled();
});

it('an address whose job is gone asks before it runs what writes', async () => {
  const { run, client, events } = scripted(GONE);
  await run.follow(REQUEST, { sid: 'gone', asksFor: async () => ['delete'] });
  expect(events.at(-1)).toEqual({ type: 'held', commands: ['delete'] });
  expect(client.createJob).not.toHaveBeenCalled();
});

it('an address whose job is gone runs the search anew', async () => {
  const { run, client, kinds } = scripted(GONE, DONE);
  await run.follow(REQUEST, { sid: 'gone', asksFor: async () => [] });
  expect(client.createJob).toHaveBeenCalledTimes(1);
  expect(kinds()).toEqual(['started', 'created', 'progress']);
});

it('a job that was not started here goes on when abandoned', async () => {
  const { run, client, kinds } = scripted(RUNNING);
  const followed = run.follow(REQUEST, { sid: 'other', asksFor: async () => [] });
  await vi.waitFor(() => expect(kinds()).toContain('progress'));
  run.abandon();
  await followed;
  expect(client.control).not.toHaveBeenCalled();
});

it('a finished job is left alone', async () => {
  const { run, client } = scripted(DONE);
  await run.follow(REQUEST);
  run.abandon();
  await run.control('finalize');
  expect(client.control).not.toHaveBeenCalled();
});

it('the phase follows the job', () => {
  const phases = [RUNNING, DONE, status({ dispatchState: 'FAILED', isDone: true })].map(
    (job) => reduce(IDLE, { type: 'progress', job }).phase,
  );
  expect(phases).toEqual(['running', 'done', 'failed']);
});

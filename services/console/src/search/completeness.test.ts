import { expect, it } from 'vitest';
import { decodeJob } from '../api/decode';
import { judge } from './completeness';
import { IDLE, type Phase } from './searchRun';

const state = (phase: Phase, content: object) => ({
  ...IDLE,
  phase,
  job: decodeJob({ entry: [{ content }] }),
});
const WARNING = { type: 'WARN', text: 'bucket 7 cannot be read' };

it('a finished search without a warning is complete', () => {
  expect(judge(state('done', { isDone: true }))).toEqual({
    is: 'complete',
    label: 'Complete',
    reasons: [],
  });
  const noted = judge(state('done', { messages: [{ type: 'INFO', text: 'by a summary' }] }));
  expect(noted?.is).toBe('complete');
  expect(noted?.reasons).toEqual(['by a summary']);
});

it('what is missing is named', () => {
  expect(judge(state('done', { isFinalized: true }))?.is).toBe('partial');
  const warned = judge(state('done', { isPartial: true, messages: [WARNING] }));
  expect(warned).toEqual({ is: 'partial', label: 'Incomplete', reasons: [WARNING.text] });
  expect(judge(state('done', { isPartial: true }))?.reasons).toHaveLength(1);
});

it('a count of all with events of some is complete, and says so', () => {
  const messages = [
    { type: 'WARN', text: '5000 events match: the newest 100 are kept (max_count)' },
  ];
  const judged = judge(state('done', { eventIsTruncated: true, eventCount: 5000, messages }));
  expect(judged?.is).toBe('complete');
  expect(judged?.reasons).toHaveLength(1);
  expect(judged?.reasons[0]).toContain('5,000');
});

it('a running search is a preview', () => {
  expect(judge(state('running', {}))?.is).toBe('preview');
  expect(judge(state('running', { messages: [WARNING] }))?.is).toBe('partial');
  expect(judge(IDLE)).toBeNull();
});

import { describe, expect, it } from 'vitest';
import { decodeLeaving, leavingText } from './offline';

describe('indexers that are taken out', () => {
  it('says what one still has', () => {
    const [leaving] = decodeLeaving([
      { peer: 'i', status: 'Decommissioning', events: 3, uploads: 1, copies_of: ['j', 'k'] },
    ]);
    expect(leaving && leavingText([], leaving)).toBe(
      'i is taken out of the cluster, and still has 3 events that are not in object storage; copies of journals of j, k',
    );
    expect(leaving?.stops).toBe(false);
  });

  it('knows when it is too late to keep one', () => {
    const [stops, stopped] = decodeLeaving([
      { peer: 'i', status: 'ShuttingDown' },
      { peer: 'j', status: 'Stopped' },
    ]);
    expect(stops && leavingText([], stops)).toBe('i stops and leaves the cluster');
    expect(stopped && leavingText([], stopped)).toContain('still in the list');
    expect([stops?.stops, stopped?.stops]).toEqual([true, true]);
    expect(decodeLeaving(undefined)).toEqual([]);
  });
});

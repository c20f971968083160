import { expect, it, vi } from 'vitest';
import { ApiError } from '../api/client';
import { EventPages, PAGE_SIZE } from './eventPages';

function scripted(total = 1_000) {
  let stamp = 'a';
  const load = vi.fn(async (offset: number, count: number) => ({
    events: Array.from({ length: Math.max(0, Math.min(count, total - offset)) }, (_, index) => ({
      _raw: `${stamp}${offset + index}`,
    })),
    highlighted: ['x'],
  }));
  const pages = new EventPages(load);
  return { load, pages, stampWith: (next: string) => (stamp = next) };
}

it('loads the pages in sight, each once', async () => {
  const { load, pages } = scripted();
  pages.want(40, 60, '1');
  pages.want(40, 60, '1');
  await vi.waitFor(() => expect(pages.state().isLoading).toBe(false));
  expect(load.mock.calls.map(([offset]) => offset)).toEqual([0, PAGE_SIZE]);
  expect(pages.at(59)).toEqual({ _raw: 'a59' });
  expect(pages.at(200)).toBeUndefined();
  expect(pages.state().highlighted).toEqual(['x']);
});

it('keeps what is shown until newer events are there', async () => {
  const { pages, stampWith } = scripted();
  pages.want(0, 10, '1');
  await vi.waitFor(() => expect(pages.at(3)).toEqual({ _raw: 'a3' }));
  stampWith('b');
  pages.want(0, 10, '2');
  expect(pages.at(3)).toEqual({ _raw: 'a3' });
  await vi.waitFor(() => expect(pages.at(3)).toEqual({ _raw: 'b3' }));
});

it('forgets pages far away', async () => {
  const { pages } = scripted(10_000);
  for (let page = 0; page < 100; page += 1) {
    const loaded = new Promise<void>((resolve) => {
      const stop = pages.subscribe(() => {
        if (!pages.at(page * PAGE_SIZE)) return;
        stop();
        resolve();
      });
    });
    pages.want(page * PAGE_SIZE, page * PAGE_SIZE, '1');
    await loaded;
  }
  expect(pages.at(0)).toBeUndefined();
  expect(pages.at(99 * PAGE_SIZE)).toBeDefined();
});

it('says what failed, once, and tries again when asked', async () => {
  const load = vi.fn(async () => {
    throw new ApiError('busy', 503, []);
  });
  const pages = new EventPages(load);
  pages.want(0, 1, '1');
  await vi.waitFor(() => expect(pages.state().error?.kind).toBe('busy'));
  expect(load).toHaveBeenCalledTimes(1);
  pages.want(0, 1, '1');
  await vi.waitFor(() => expect(load).toHaveBeenCalledTimes(2));
});

it('says nothing after it is closed', async () => {
  const { pages } = scripted();
  const heard = vi.fn();
  pages.want(0, 1, '1');
  pages.subscribe(heard);
  pages.close();
  await Promise.resolve();
  expect(heard).not.toHaveBeenCalled();
});

import { expect, it } from 'vitest';
import { type Go, holdBack, leave, type Page, watchHistory } from './leaving';

it('without unsaved changes a page is left at once', () => {
  const { page, went } = browser('/app/a/view/edit');
  leave(() => went.push('left'), page);
  const { asked, release } = held(page);
  release();
  leave(() => went.push('left again'), page);
  expect([went, asked]).toEqual([['left', 'left again'], []]);
});

it('with unsaved changes a link goes where it leads only after the answer', () => {
  const { page, went } = browser('/app/a/view/edit');
  const { asked } = held(page);
  leave(() => went.push('/jobs'), page);
  expect([went, asked.length]).toEqual([[], 1]);
  asked[0]?.();
  expect(went).toEqual(['/jobs']);
});

it('Back keeps the address, and goes back after the answer', () => {
  const { page, back, seen } = browser('/jobs', '/app/a/view/edit');
  const { asked } = held(page);
  back();
  expect([page.location.pathname, seen, asked.length]).toEqual(['/app/a/view/edit', [], 1]);
  asked[0]?.();
  expect([page.location.pathname, seen, asked.length]).toEqual(['/jobs', ['/jobs'], 1]);
});

it('Back without unsaved changes is heard by the router', () => {
  const { back, seen } = browser('/', '/jobs', '/app/a/view/edit');
  back();
  back();
  expect(seen).toEqual(['/jobs', '/']);
});

it('Back within the view is not asked about, and its newest query is kept', () => {
  const { page, back, seen } = browser('/jobs', '/edit?mode=form', '/edit?mode=source');
  const { asked } = held(page);
  back();
  expect([seen, asked]).toEqual([['/edit'], []]);
  back();
  expect([page.location.href, asked.length]).toEqual(['http://karst/edit?mode=form', 1]);
});

function held(page: Page) {
  const asked: Go[] = [];
  return { asked, release: holdBack((go) => asked.push(go), page) };
}

/** A window with a history, at its last address; `seen`: the paths that the router hears of. */
function browser(...addresses: string[]) {
  const entries = addresses.map((address) => new URL(address, 'http://karst'));
  const went: string[] = [];
  const seen: string[] = [];
  const back = () => {
    entries.pop();
    page.dispatchEvent(new Event('popstate'));
  };
  class FakePage extends EventTarget implements Page {
    history = {
      back,
      pushState: (_data: unknown, _unused: string, url: string) => {
        entries.push(new URL(url));
        page.dispatchEvent(new Event('pushState'));
      },
    };
    get location() {
      return entries.at(-1) ?? new URL('http://karst');
    }
  }
  const page = new FakePage();
  watchHistory(page);
  page.addEventListener('popstate', () => seen.push(page.location.pathname));
  return { page, went, back, seen };
}

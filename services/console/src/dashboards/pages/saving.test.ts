import { expect, it } from 'vitest';
import type { ViewInfo } from '../runtime/server';
import { saveUnlessChanged } from './saving';

it('a dashboard that nobody else has changed is saved', async () => {
  const server = storing('<dashboard/>\r\n');
  expect(await saveUnlessChanged(server, VIEW, '<dashboard/>', '<form/>')).toBeNull();
  expect(server.text()).toBe('<form/>');
});

it('a change of somebody else is not overwritten, and is given back', async () => {
  const server = storing('<dashboard><theirs/></dashboard>');
  const found = await saveUnlessChanged(server, VIEW, '<dashboard/>', '<form/>');
  expect(found?.text).toBe('<dashboard><theirs/></dashboard>');
  expect(server.text()).toBe('<dashboard><theirs/></dashboard>');
});

it('it is overwritten once it is known, but not a third change', async () => {
  const server = storing('<theirs/>');
  const found = await saveUnlessChanged(server, VIEW, '<dashboard/>', '<form/>');
  const known = found?.text ?? '';
  await server.saveView(VIEW, '<third/>');
  expect((await saveUnlessChanged(server, VIEW, known, '<form/>'))?.text).toBe('<third/>');
  expect(await saveUnlessChanged(server, VIEW, '<third/>', '<form/>')).toBeNull();
  expect(server.text()).toBe('<form/>');
});

it('nothing is saved if the comparison fails', async () => {
  const server = {
    ...storing('<dashboard/>'),
    storedView: () => Promise.reject(new Error('away')),
  };
  await expect(saveUnlessChanged(server, VIEW, '<dashboard/>', '<form/>')).rejects.toThrow('away');
  expect(server.text()).toBe('<dashboard/>');
});

const VIEW: ViewInfo = {
  name: 'v',
  app: 'a',
  label: 'V',
  description: '',
  text: '<dashboard/>',
  owner: 'ann',
  sharing: 'app',
  isDashboard: true,
  isVisible: true,
  canWrite: true,
  isRemovable: true,
  readers: [],
  writers: [],
};

/** A server with one dashboard. */
function storing(first: string) {
  let text = first;
  return {
    text: () => text,
    storedView: async (view: ViewInfo) => ({ ...view, text }),
    saveView: async (_: ViewInfo, next: string) => {
      text = next;
    },
  };
}

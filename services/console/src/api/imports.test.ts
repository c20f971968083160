import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

it('the access to the server needs nothing of the frame', () => {
  const here = new URL('./', import.meta.url);
  const ofFrame = readdirSync(here).filter((name) =>
    /from '\.\.\/app\//.test(readFileSync(new URL(name, here), 'utf8')),
  );
  expect(ofFrame).toEqual([]);
});

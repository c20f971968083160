import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { reportOfText } from './features';

const SAMPLES = new URL('../../../../../schemas/dashboards/samples/', import.meta.url);

it('gives the samples the reports that karst app check gives', () => {
  const expected = JSON.parse(readFileSync(new URL('expected.json', SAMPLES), 'utf8'));
  const names = readdirSync(SAMPLES).filter((name) => name.endsWith('.xml'));
  expect(names.sort()).toEqual(Object.keys(expected).sort());
  for (const name of names) {
    const report = reportOfText(readFileSync(new URL(name, SAMPLES), 'utf8'));
    expect({ name, ...report }).toEqual({ name, ...expected[name] });
  }
});

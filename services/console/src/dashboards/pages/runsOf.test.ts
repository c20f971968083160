import { expect, it } from 'vitest';
import { readDashboard } from '../model/reader';
import { runsOf } from './runsOf';

it('single values that follow each other in a panel stand side by side', () => {
  const page = readDashboard(
    '<dashboard><row><panel><single/><single/><table/><single/><chart/><chart/></panel></row></dashboard>',
  );
  const elements = page.rows[0]?.panels[0]?.elements ?? [];
  expect(runsOf(elements).map((run) => run.map(({ kind }) => kind).join('+'))).toEqual([
    'single+single',
    'table',
    'single',
    'chart',
    'chart',
  ]);
});

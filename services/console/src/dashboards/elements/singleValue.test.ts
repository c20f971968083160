import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { fittingSize, singleView } from './singleValue';

const rows = (fields: string[], ...all: string[][]) => ({
  fields,
  rows: all,
  preview: false,
  messages: [],
});

/** Pixels of a value in a place: digits and capitals of the bold font are at most 0.72 of its size wide. */
function widthIn(place: number, text: string, unit = ''): number {
  const share = Number(/([\d.]+)cqi/.exec(fittingSize({ text, unit }))?.[1]);
  const size = Math.max(10, Math.min(38, (share * place) / 100));
  const narrow = text.match(/[.,]/g)?.length ?? 0;
  const margins = unit === '' ? 0 : 0.6 * 0.3;
  return (
    size * (0.72 * (text.length - narrow) + 0.35 * narrow + 0.6 * 0.72 * unit.length + margins)
  );
}

it.each([
  ['1796058160', ''],
  ['1234567', ''],
  ['1,234,567', ''],
  ['68', 'requests'],
  ['CRITICAL', ''],
])('%s %s fits into the line of a narrow panel', (text, unit) => {
  for (const place of [100, 140, 200, 400]) {
    expect(widthIn(place, text, unit)).toBeLessThanOrEqual(place);
  }
});

it('a number is not broken', () => {
  const css = readFileSync('src/dashboards/elements/SingleElement.module.css', 'utf8');
  expect(css).toMatch(/\.value\[data-number="true"\] \{\s*white-space: nowrap/);
});

it('the class that rangemap has found is the colour, unless colours are of ranges', () => {
  const mapped = rows(['n', 'range'], ['90', 'severe']);
  const color = (...pairs: [string, string][]) => singleView(mapped, new Map(pairs))?.color;
  expect(color()).toBe('#dc4e41');
  expect(color(['usecolors', '0'])).toBe('#dc4e41');
  expect(color(['usecolors', '1'], ['rangevalues', '[100]'])).toBe('#53a051');
  expect(color(['usecolors', '1'], ['classfield', 'range'])).toBe('#dc4e41');
  expect(color(['classfield', 'other'])).toBeNull();
  // A range of numbers, as of `stats range(x) as range`, is no class.
  expect(singleView(rows(['range'], ['12']), new Map())?.color).toBeNull();
  expect(singleView(mapped, new Map([['colormode', 'block']]))?.isBlock).toBe(true);
});

it('a trend has a colour where the author says that a rise or a fall means something', () => {
  const falling = rows(
    ['_time', 'n'],
    ['2026-01-01T00:00:00Z', '60'],
    ['2026-01-01T01:00:00Z', '20'],
  );
  const colors = (...pairs: [string, string][]) => {
    const view = singleView(falling, new Map(pairs));
    return [view?.color, view?.trend?.color];
  };
  expect(colors()).toEqual([null, null]);
  expect(colors(['colorby', 'trend'])).toEqual([null, null]);
  expect(colors(['usecolors', '1'])).toEqual(['#0877a6', null]);
  expect(colors(['usecolors', '1'], ['colorby', 'trend'])).toEqual([null, '#c4453a']);
  const block: [string, string] = ['colormode', 'block'];
  expect(colors(['usecolors', '1'], ['colorby', 'trend'], block)).toEqual(['#c4453a', '#c4453a']);
  const inverse: [string, string] = ['trendcolorinterpretation', 'inverse'];
  expect(colors(['usecolors', '1'], ['colorby', 'trend'], inverse)).toEqual([null, '#3c8a4e']);
});

import { expect, it } from 'vitest';
import { type Row, visibleTable } from '../statistics/table';
import { chartModel } from './chartModel';
import {
  chartOptions,
  type Look,
  PALETTE_DARK,
  PALETTE_LIGHT,
  restColor,
  seriesColor,
} from './chartOptions';

/** As it comes from the server. */
const modelOf = ({ columns: fields, rows }: { columns: string[]; rows: Row[] }) =>
  chartModel(visibleTable({ fields, rows, preview: false, messages: [] }));

const LOOK: Look = { text: '', muted: '', line: '', surface: '', font: '', palette: [] };

const labels = (times: string[]) => {
  const model = modelOf({ columns: ['_time', 'count'], rows: times.map((time) => [time, '1']) });
  const options = chartOptions(model, 'line', false, 'UTC', LOOK);
  return (options.xAxis as { data: string[] }).data;
};

it('times within a day need no date', () =>
  expect(labels(['2026-11-20T21:00:00.000+00:00', '2026-11-20T21:05:00.000+00:00'])).toEqual([
    '21:00',
    '21:05',
  ]));

it('times across days have their date', () =>
  expect(labels(['2026-11-20T00:00:00.000+00:00', '2026-11-21T00:00:00.000+00:00'])).toEqual([
    '11-20 00:00',
    '11-21 00:00',
  ]));

it('seconds show where they matter', () =>
  expect(labels(['2026-11-20T21:00:00.000+00:00', '2026-11-20T21:00:10.000+00:00'])).toEqual([
    '21:00:00',
    '21:00:10',
  ]));

it('bars lie down in the order of the rows', () => {
  const model = modelOf({
    columns: ['host', 'count'],
    rows: [
      ['a', '2'],
      ['b', '1'],
    ],
  });
  const options = chartOptions(model, 'bar', false, 'UTC', LOOK);
  expect(options.yAxis).toMatchObject({ type: 'category', data: ['a', 'b'], inverse: true });
});

it('10 series and OTHER have 11 colours, and OTHER is grey', () => {
  const names = Array.from({ length: 10 }, (_, at) => `host${at}`);
  const model = modelOf({
    columns: ['_time', ...names, 'OTHER'],
    rows: [['2026-11-20T21:00:00.000+00:00', ...names.map(() => '1'), '2']],
  });
  const look = { ...LOOK, palette: PALETTE_LIGHT };
  const colors = chartOptions(model, 'line', false, 'UTC', look).color as string[];
  expect(new Set(colors).size).toBe(11);
  expect(colors[10]).toBe(restColor('OTHER'));
});

it('OTHER and NULL have their greys, other names have the palette', () => {
  expect(seriesColor('count: NULL', 0, ['#111111'])).toBe(restColor('NULL'));
  expect(seriesColor('ANOTHER', 3, ['#111111', '#222222'])).toBe('#222222');
  expect(restColor('OTHER')).not.toBe(restColor('NULL'));
});

const linear = (hex: string): [number, number, number] => {
  const channel = (at: number) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return [channel(1), channel(3), channel(5)];
};
const luminance = (hex: string) => {
  const [red, green, blue] = linear(hex);
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};
/** OKLab: distances are as large as they look. */
const lab = (hex: string): [number, number, number] => {
  const [red, green, blue] = linear(hex);
  const l = Math.cbrt(0.4122214708 * red + 0.5363325363 * green + 0.0514459929 * blue);
  const m = Math.cbrt(0.2119034982 * red + 0.6806995451 * green + 0.1073969566 * blue);
  const s = Math.cbrt(0.0883024619 * red + 0.2817188376 * green + 0.6299787005 * blue);
  return [
    0.2104542553 * l + 0.793617785 * m - 0.0040720468 * s,
    1.9779984951 * l - 2.428592205 * m + 0.4505937099 * s,
    0.0259040371 * l + 0.7827717662 * m - 0.808675766 * s,
  ];
};
const distance = (a: string, b: string) => {
  const [x, y] = [lab(a), lab(b)];
  return Math.hypot(x[0] - y[0], x[1] - y[1], x[2] - y[2]);
};

/** With the surfaces of `tokens.css`. */
it.each([
  ['light', PALETTE_LIGHT, '#ffffff'],
  ['dark', PALETTE_DARK, '#1b2024'],
] as const)('the %s palette has 20 colours that are visible and differ', (_, palette, surface) => {
  const all = [...palette, restColor('OTHER') ?? '', restColor('NULL') ?? ''];
  expect(palette.length).toBeGreaterThanOrEqual(20);
  all.forEach((color, at) => {
    const [low = 0, high = 0] = [luminance(color), luminance(surface)].sort((a, b) => a - b);
    expect((high + 0.05) / (low + 0.05), color).toBeGreaterThanOrEqual(3);
    for (const other of all.slice(0, at)) {
      expect(distance(color, other), `${color} ${other}`).toBeGreaterThan(0.06);
    }
  });
});

import type { ReactElement } from 'react';
import { expect, it } from 'vitest';
import { readDashboard } from '../model/reader';
import { barsOf } from './SingleElement';
import { CellView, sparklineLook } from './TableElement';

it.each([
  ['a cell that is clicked by itself', { isRow: false, isFirst: false, text: 'x' }],
  ['the first cell of a row that is clicked as a whole', { isRow: true, isFirst: true, text: 'x' }],
  ['a further cell of such a row', { isRow: true, isFirst: false, text: 'x' }],
  ['an empty cell', { isRow: false, isFirst: true, text: '' }],
])('the whole area of %s reacts, and once', (_, { isRow, isFirst, text }) => {
  const clicks: unknown[] = [];
  const cell = drawn(text, isRow, isFirst, (row, column, newTab) =>
    clicks.push([row, column.name, newTab]),
  );
  cell.props.onClick?.({ ctrlKey: true, metaKey: false });
  expect(clicks).toEqual([[[text], 'host', true]]);
  // The button's own click bubbles up to the cell.
  const button = buttonOf(cell);
  expect(button === null).toBe(text === '' || (isRow && !isFirst));
  expect(button?.props.onClick).toBeUndefined();
});

it('a cell without drilldown has no button and no reaction', () => {
  const cell = drawn('x', false, true, null);
  expect([cell.props.onClick, buttonOf(cell)]).toEqual([undefined, null]);
});

it('times are marked, as they do not wrap', () => {
  const marked = (isTime: boolean) =>
    drawnOf({ ...COLUMN, isTime }, '2026-01-01T00:00:00Z').props['data-time'];
  expect([marked(true), marked(false)]).toEqual([true, undefined]);
});

it('a coloured cell has the property that style sheets of apps look for', () =>
  expect(drawnOf({ ...COLUMN, color: () => '#112233' }, 'x').props.style).toEqual({
    backgroundColor: '#112233',
    color: '#ffffff',
  }));

it('a whole second has no fraction', () => {
  const text = (time: string) => {
    const cell = drawnOf({ ...COLUMN, isTime: true }, time);
    return (cell.props.children as ReactElement<{ text: string }>).props.text;
  };
  expect(text('2026-01-01T00:00:40.000Z')).toBe('2026-01-01 00:00:40');
  expect(text('2026-01-01T00:00:40.120Z')).toBe('2026-01-01 00:00:40.120');
});

it('a sparkline has the kind, the colour and the height of its format', () => {
  const format = (xml: string) => {
    const page = readDashboard(`<dashboard><row><table>${xml}</table></row></dashboard>`);
    return page.rows[0]?.panels[0]?.elements[0]?.formats[0] ?? null;
  };
  const bars = format(
    '<format type="sparkline"><option name="type">bar</option><option name="barColor">red</option><option name="height">40px</option></format>',
  );
  expect(sparklineLook(bars)).toEqual({ isOfBars: true, color: 'red', height: 40 });
  expect(sparklineLook(null)).toEqual({ isOfBars: false, color: 'var(--accent)', height: 20 });
  // From zero, which is at 18 of 20 pixels, upwards.
  expect(barsOf([2, 18], 18)).toBe('M0.00 18.0h37.50v-16.0h-37.50zM50.00 18.0h37.50v-0.5h-37.50z');
});

interface CellProps {
  style?: Record<string, string>;
  'data-time'?: boolean;
  onClick?: (event: { ctrlKey: boolean; metaKey: boolean }) => void;
  children: unknown;
}

const COLUMN = {
  name: 'host',
  at: 0,
  isNumeric: false,
  isTime: false,
  color: null,
  number: null,
  sparkline: null,
};

function drawn(
  text: string,
  isRow: boolean,
  isFirst: boolean,
  onClick: Parameters<typeof CellView>[0]['table']['onClick'],
) {
  const table = { onClick, isRow, zone: 'UTC', isOfLines: false };
  return CellView({ column: COLUMN, row: [text], isFirst, table }) as ReactElement<CellProps>;
}

const drawnOf = (column: Parameters<typeof CellView>[0]['column'], text: string) =>
  CellView({
    column,
    row: [text],
    isFirst: false,
    table: { onClick: null, isRow: false, zone: 'UTC', isOfLines: false },
  }) as ReactElement<CellProps>;

function buttonOf(cell: ReactElement<CellProps>): ReactElement<CellProps> | null {
  const child = cell.props.children as ReactElement<CellProps> | string;
  return typeof child === 'object' && child?.type === 'button' ? child : null;
}

import { expect, it } from 'vitest';
import { cellAfter, cellWithin } from './activeCell';

const BOUNDS = { rows: 1000, columns: 5, page: 20 };
const NO_KEYS = { ctrlKey: false, metaKey: false, altKey: false };

function after(key: string, row: number, column: number, keys = {}) {
  const cell = cellAfter({ key, ...NO_KEYS, ...keys }, { row, column }, BOUNDS);
  return cell && [cell.row, cell.column];
}

it('arrows move by a cell and stop at the edges', () => {
  expect(after('ArrowDown', 3, 2)).toEqual([4, 2]);
  expect(after('ArrowUp', 0, 2)).toEqual([0, 2]);
  expect(after('ArrowRight', 3, 4)).toEqual([3, 4]);
  expect(after('ArrowLeft', 3, 2)).toEqual([3, 1]);
});

it('further keys move by a page, to the ends of a row and of the table', () => {
  expect(after('PageDown', 990, 1)).toEqual([999, 1]);
  expect(after('PageUp', 50, 1)).toEqual([30, 1]);
  expect(after('Home', 7, 3)).toEqual([7, 0]);
  expect(after('End', 7, 3)).toEqual([7, 4]);
  expect(after('End', 7, 3, { ctrlKey: true })).toEqual([999, 4]);
  expect(after('Home', 7, 3, { metaKey: true })).toEqual([0, 0]);
  expect(after('ArrowDown', 7, 3, { ctrlKey: true })).toEqual([999, 3]);
});

it('other keys are left to the page', () => {
  expect(after('Tab', 7, 3)).toBeNull();
  expect(after('c', 7, 3, { ctrlKey: true })).toBeNull();
  expect(after('ArrowLeft', 7, 3, { altKey: true })).toBeNull();
});

it('a cell that later results do not have is the nearest one', () =>
  expect(cellWithin({ row: 7, column: 3 }, { rows: 2, columns: 1, page: 20 })).toEqual({
    row: 1,
    column: 0,
  }));

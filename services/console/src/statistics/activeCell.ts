/** The one cell of a table that keys move: there may be 2,000,000, of which only those in sight are drawn. */

export interface ActiveCell {
  row: number;
  column: number;
}

export interface Bounds {
  rows: number;
  columns: number;
  /** Rows that are seen at a time. */
  page: number;
}

/** A key as events have it. */
export interface Key {
  key: string;
  ctrlKey: boolean;
  metaKey: boolean;
  altKey: boolean;
}

/** Where a key moves the cell; null for a key that does not. */
export function cellAfter(pressed: Key, from: ActiveCell, bounds: Bounds): ActiveCell | null {
  if (pressed.altKey) return null;
  const isFar = pressed.ctrlKey || pressed.metaKey;
  const to = isFar ? afterFar(pressed.key, from, bounds) : afterNear(pressed.key, from, bounds);
  return to && cellWithin(to, bounds);
}

function afterNear(key: string, { row, column }: ActiveCell, bounds: Bounds): ActiveCell | null {
  switch (key) {
    case 'ArrowUp':
      return { row: row - 1, column };
    case 'ArrowDown':
      return { row: row + 1, column };
    case 'ArrowLeft':
      return { row, column: column - 1 };
    case 'ArrowRight':
      return { row, column: column + 1 };
    case 'PageUp':
      return { row: row - bounds.page, column };
    case 'PageDown':
      return { row: row + bounds.page, column };
    case 'Home':
      return { row, column: 0 };
    case 'End':
      return { row, column: bounds.columns };
    default:
      return null;
  }
}

/** With Ctrl, as in spreadsheets: to the ends of the table. */
function afterFar(key: string, { row, column }: ActiveCell, bounds: Bounds): ActiveCell | null {
  switch (key) {
    case 'Home':
      return { row: 0, column: 0 };
    case 'End':
      return { row: bounds.rows, column: bounds.columns };
    case 'ArrowUp':
      return { row: 0, column };
    case 'ArrowDown':
      return { row: bounds.rows, column };
    case 'ArrowLeft':
      return { row, column: 0 };
    case 'ArrowRight':
      return { row, column: bounds.columns };
    default:
      return null;
  }
}

/** The nearest cell of a table, as other results may have fewer. */
export function cellWithin({ row, column }: ActiveCell, bounds: Bounds): ActiveCell {
  return {
    row: Math.max(0, Math.min(row, bounds.rows - 1)),
    column: Math.max(0, Math.min(column, bounds.columns - 1)),
  };
}

/** Pixels of elements whose author says nothing. */
export const HEIGHTS: Record<string, number> = {
  chart: 250,
  single: 110,
  table: 180,
  event: 220,
  map: 400,
  unsupported: 300,
};

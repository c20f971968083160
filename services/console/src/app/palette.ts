/** What the palette offers for a typed text. */

export interface PaletteItem {
  id: string;
  group: string;
  label: string;
  detail?: string;
  run: () => void;
}

const MOST = 40;

/**
 * Items whose text has every typed word, those that begin with the first one before the others, in the order
 * of their groups.
 */
export function matching(items: PaletteItem[], typed: string): PaletteItem[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const first = words[0];
  if (first === undefined) return items.slice(0, MOST);
  const rank = (item: PaletteItem): number => {
    const text = `${item.label} ${item.detail ?? ''} ${item.group}`.toLowerCase();
    if (!words.every((word) => text.includes(word))) return -1;
    if (item.label.toLowerCase().startsWith(first)) return 0;
    return item.label.toLowerCase().includes(first) ? 1 : 2;
  };
  return items
    .map((item, place) => ({ item, place, rank: rank(item) }))
    .filter((one) => one.rank !== -1)
    .sort((a, b) => a.rank - b.rank || a.place - b.place)
    .map((one) => one.item)
    .slice(0, MOST);
}

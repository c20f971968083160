/** The text of a pattern: what differs from event to event is left out. */

/** Longer texts are shown in part. */
const MOST = 600;

export interface Piece {
  text: string;
  /** Whether it stands for something that differs: a number, an id, an address. */
  isVariable: boolean;
}

const VARIABLE =
  /\b\d{4}-\d\d-\d\d[T ][\d:.,]+(?:Z|[+-]\d\d:?\d\d)?|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b\d{1,3}(?:\.\d{1,3}){3}\b|\b(?=[0-9a-f]*\d)[0-9a-f]{12,}\b|\d+(?:\.\d+)?/gi;

export function piecesOf(raw: string): Piece[] {
  const text = raw.slice(0, MOST);
  const pieces: Piece[] = [];
  let from = 0;
  for (const found of text.matchAll(VARIABLE)) {
    if (found.index > from) pieces.push({ text: text.slice(from, found.index), isVariable: false });
    pieces.push({ text: found[0], isVariable: true });
    from = found.index + found[0].length;
  }
  if (from < text.length) pieces.push({ text: text.slice(from), isVariable: false });
  if (raw.length > MOST) pieces.push({ text: ' …', isVariable: false });
  return pieces;
}

/** Words of an event that its likes have, too: for a search. */
export function wordsOf(raw: string, most = 6): string[] {
  const words = piecesOf(raw)
    .filter((piece) => !piece.isVariable)
    .flatMap((piece) => piece.text.match(/[\p{L}_]{4,}/gu) ?? []);
  return [...new Set(words)].slice(0, most);
}

/**
 * A text whose hidden characters are seen by their names. They stay in the text, so that a copy has them, and each
 * has a box of its own, so that what follows it is not turned around.
 */

import { hasHidden, partsOfText } from './hiddenCharacters';
import styles from './Visible.module.css';

interface VisibleProps {
  text: string;
  /** The characters around it, where it is a piece of a longer text. */
  before?: string;
  after?: string;
}

export function Visible({ text, before, after }: VisibleProps) {
  if (!hasHidden(text)) return text;
  return (
    <bdi>
      {partsOfText(text, before, after).map((part, at) =>
        part.code ? (
          // biome-ignore lint/suspicious/noArrayIndexKey: parts are positions in a text
          <bdi key={at} className={styles.sign} data-code={part.code} title="hidden character">
            {part.text}
          </bdi>
        ) : (
          part.text
        ),
      )}
    </bdi>
  );
}

/** Characters beside a piece that decide which of its hidden characters are shown. */
const AROUND = 16;

interface PiecesProps {
  /** Pieces of one text. */
  pieces: readonly { text: string; marked: boolean }[];
  as?: 'mark' | 'b';
}

/** A text some pieces of which are marked. */
export function VisiblePieces({ pieces, as: Mark = 'mark' }: PiecesProps) {
  const whole = pieces.map(({ text }) => text).join('');
  let end = 0;
  return pieces.map(({ text, marked }, at) => {
    const start = end;
    end += text.length;
    const before = whole.slice(Math.max(0, start - AROUND), start);
    const shown = { text, before, after: whole.slice(end, end + AROUND) };
    return marked ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces are positions in a text
      <Mark key={at}>
        <Visible {...shown} />
      </Mark>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: pieces are positions in a text
      <Visible key={at} {...shown} />
    );
  });
}

/**
 * A text whose hidden characters are seen by their names. They stay in the text, so that a copy has them, and each
 * has a box of its own, so that what follows it is not turned around.
 */

import { hasHidden, partsOfText } from './hiddenCharacters';
import styles from './Visible.module.css';

export function Visible({ text }: { text: string }) {
  if (!hasHidden(text)) return text;
  return (
    <bdi>
      {partsOfText(text).map((part, at) =>
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

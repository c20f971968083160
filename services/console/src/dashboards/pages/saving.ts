/**
 * Saves the text of a dashboard, unless somebody else has changed it since it was read. Another change between the
 * comparison and the request is not noticed: the server has no versions of views.
 */

import type { DashboardServer, ViewInfo } from '../runtime/server';

type Stored = Pick<DashboardServer, 'storedView' | 'saveView'>;

/** Null when it is saved; otherwise what is stored instead of `base`, the text that was read or saved before. */
export async function saveUnlessChanged(
  server: Stored,
  view: ViewInfo,
  base: string,
  text: string,
): Promise<ViewInfo | null> {
  const stored = await server.storedView(view);
  // What another session has stored in the same words is no conflict.
  if (!isSame(stored.text, base) && !isSame(stored.text, text)) return stored;
  await server.saveView(view, text);
  return null;
}

/** Line ends and the blanks around a text may differ from what was sent. */
const isSame = (one: string, other: string) => plain(one) === plain(other);

const plain = (text: string) => text.replaceAll('\r\n', '\n').trim();

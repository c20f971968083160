/** Which clicks on the text of an event open it. */

/** Whether a click is on the text alone: not on a button within it, and not the end of a selection. */
export const isPlainClick = (
  target: Pick<Element, 'closest'>,
  selection: Pick<Selection, 'isCollapsed'> | null,
): boolean => target.closest('button, a') === null && (selection?.isCollapsed ?? true);

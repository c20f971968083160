import { childOf, parseXml } from '../model/xml';
import { escapeHtml } from '../runtime/tokens';

/** The text of a dashboard with another title; everything else stays as it is written. */
export function relabelled(text: string, title: string): string {
  const source = text.replace(/^\uFEFF/, '');
  const root = parseXml(source);
  const label = childOf(root, 'label');
  if (label && label.innerEnd > label.innerStart) {
    return source.slice(0, label.innerStart) + escapeHtml(title) + source.slice(label.innerEnd);
  }
  const added = `<label>${escapeHtml(title)}</label>`;
  if (label) return source.slice(0, label.start) + added + source.slice(label.end);
  // `<dashboard/>` has no place for it.
  if (root.innerStart === root.end) return text;
  return `${source.slice(0, root.innerStart)}\n  ${added}${source.slice(root.innerStart)}`;
}

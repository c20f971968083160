/** The text of an HTML panel, which is written as XML: an empty element has an end tag, as HTML knows no `<div/>`. */

import { elementsOf, type XmlElement } from './xml';

/** Elements that have no end tag in HTML. */
const VOID = new Set(
  'area base br col embed hr img input link meta param source track wbr'.split(' '),
);

/** What is between the tags of an element. */
export function innerHtml(source: string, element: XmlElement): string {
  const parts: string[] = [];
  let at = element.innerStart;
  for (const empty of emptyTags(element)) {
    parts.push(source.slice(at, empty.end - 2), `></${empty.written}>`);
    at = empty.end;
  }
  parts.push(source.slice(at, element.innerEnd));
  return parts.join('');
}

/** The elements below one that are written as `<x/>`, in the order of the text. */
function emptyTags(element: XmlElement): XmlElement[] {
  return elementsOf(element).flatMap((child) => {
    const isEmptyTag = child.innerStart === child.end;
    return isEmptyTag ? (VOID.has(child.name) ? [] : [child]) : emptyTags(child);
  });
}

/** The rows, panels and inputs of a view as they stand in its text: what the editor by form changes. */

import { childrenOf, elementsOf, type XmlElement } from '../model/xml';
import type { Source } from './source';

/** Elements of a panel. */
export const DRAWN = ['table', 'chart', 'single', 'event', 'html', 'map', 'viz', 'list'] as const;
const drawn = new Set<string>(DRAWN);

export const isDrawn = (element: XmlElement): boolean => drawn.has(element.name);

/** Where a row is made of: `<row>`, or what stands outside of one. */
export interface OutlineRow {
  node: XmlElement;
  /** `<row>`; what stands outside of one has no place for others. */
  isRow: boolean;
  /** Panels, and elements without one. */
  panels: XmlElement[];
}

export function rowsOf({ root }: Source): OutlineRow[] {
  return elementsOf(root).flatMap((node): OutlineRow[] => {
    if (node.name === 'row') {
      const panels = elementsOf(node).filter((one) => one.name === 'panel' || isDrawn(one));
      return [{ node, isRow: true, panels }];
    }
    return node.name === 'panel' || isDrawn(node) ? [{ node, isRow: false, panels: [node] }] : [];
  });
}

/** The elements of a panel, or the one that stands without a panel. */
export const elementsOfPanel = (panel: XmlElement): XmlElement[] =>
  panel.name === 'panel' ? elementsOf(panel).filter(isDrawn) : [panel];

/** Inputs above the rows. */
export const inputsOf = ({ root }: Source): XmlElement[] => [
  ...childrenOf(root, 'input'),
  ...childrenOf(root, 'fieldset').flatMap((set) => childrenOf(set, 'input')),
];

export interface Position {
  row: number;
  panel: number;
}

export function positionOf(rows: readonly OutlineRow[], place: number): Position | null {
  for (const [row, { panels }] of rows.entries()) {
    const panel = panels.findIndex((one) => one.start === place);
    if (panel !== -1) return { row, panel };
  }
  return null;
}

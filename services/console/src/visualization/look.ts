/** The colours of the page at the moment a chart is drawn, from its CSS variables. */

import { SANS } from '../app/theme';
import { type Look, PALETTE_DARK, PALETTE_LIGHT } from './chartOptions';

/** Of the element that a chart is drawn in: an area of the page may have a scheme of its own. */
export function lookOf(element: Element): Look {
  const style = getComputedStyle(element);
  const color = (name: string, otherwise: string) =>
    style.getPropertyValue(name).trim() || otherwise;
  const isDark =
    element.closest('[data-mantine-color-scheme]')?.getAttribute('data-mantine-color-scheme') ===
    'dark';
  return {
    text: color('--text', isDark ? '#dde3e7' : '#1c2429'),
    muted: color('--muted', isDark ? '#9aa7b0' : '#5d6a73'),
    line: color('--line', isDark ? '#2c343a' : '#e1e5e8'),
    surface: color('--surface', isDark ? '#1b2024' : '#ffffff'),
    font: SANS,
    palette: isDark ? PALETTE_DARK : PALETTE_LIGHT,
  };
}

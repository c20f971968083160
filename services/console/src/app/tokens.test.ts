/** WCAG 2.2 AA over the colours of `tokens.css`: 4.5:1 for text, 3:1 for marks and borders of controls. */

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';

const css = readFileSync(new URL('./tokens.css', import.meta.url), 'utf8');

function tokensOf(scheme: 'light' | 'dark'): Map<string, string> {
  const block = new RegExp(`\\[data-mantine-color-scheme="${scheme}"\\] \\{([^}]*)\\}`).exec(
    css,
  )?.[1];
  const pairs = [...(block ?? '').matchAll(/--([a-z-]+): (#[0-9a-f]{6});/g)];
  return new Map(pairs.map(([, name, value]) => [name as string, value as string]));
}

function luminance(hex: string): number {
  const channel = (at: number) => {
    const value = Number.parseInt(hex.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  };
  return 0.2126 * channel(1) + 0.7152 * channel(3) + 0.0722 * channel(5);
}

function contrast(a: string, b: string): number {
  const [low = 0, high = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (high + 0.05) / (low + 0.05);
}

const BACKGROUNDS = ['page', 'surface', 'sunken', 'hover'];
const CODE = ['keyword', 'function', 'string', 'macro', 'number', 'field'].map(
  (one) => `code-${one}`,
);
const TEXT: [string, string[]][] = [
  ...['text', 'muted', 'faint', 'accent', 'error'].map((name): [string, string[]] => [
    name,
    BACKGROUNDS,
  ]),
  ...CODE.map((name): [string, string[]] => [name, ['surface']]),
  ['text', ['accent-soft']],
  ['muted', ['accent-soft']],
  ['accent', ['accent-soft']],
  ['mark-text', ['mark']],
  ['error', ['error-bg']],
  ['warning', ['warning-bg', 'surface']],
  ['info', ['info-bg']],
];
const MARKS: [string, string[]][] = [
  ['bar', ['surface', 'hover']],
  ['bar-hover', ['surface', 'hover']],
  ['accent', BACKGROUNDS],
  ['control-line', ['surface', 'page']],
];

describe.each(['light', 'dark'] as const)('%s colours', (scheme) => {
  const tokens = tokensOf(scheme);
  const pairs = (list: [string, string[]][], least: number) =>
    list.flatMap(([front, backs]) =>
      backs.map((back) => ({
        front,
        back,
        least,
        is: contrast(tokens.get(front) ?? '', tokens.get(back) ?? ''),
      })),
    );

  it.each(pairs(TEXT, 4.5))('$front on $back is readable', ({ is, least }) => {
    expect(is).toBeGreaterThanOrEqual(least);
  });

  it.each(pairs(MARKS, 3))('$front on $back is visible', ({ is, least }) => {
    expect(is).toBeGreaterThanOrEqual(least);
  });
});

import { expect, it } from 'vitest';
import { hasHidden, partsOfText } from './hiddenCharacters';

it('a right-to-left override is a part with its name', () => {
  const text = 'invoice\u202Egnp.exe';
  expect(hasHidden(text)).toBe(true);
  expect(partsOfText(text)).toEqual([
    { text: 'invoice' },
    { text: '\u202E', code: 'U+202E' },
    { text: 'gnp.exe' },
  ]);
});

it.each(['\u200B', '\u200D', '\u200E', '\u200F', '\u2066', '\u2069', '\uFEFF', '\u061C'])(
  '%j within a word is shown, and copied as it is',
  (sign) => {
    const parts = partsOfText(`ad${sign}min`);
    expect(parts[1]?.code).toMatch(/^U\+[0-9A-F]{4}$/);
    expect(parts.map((part) => part.text).join('')).toBe(`ad${sign}min`);
  },
);

it.each(['plain', '', 'سلام ahoj', '👩\u200D👩\u200D👧', 'می\u200Cخواهم', 'क्\u200Dष'])(
  '%j is one part',
  (text) => expect(partsOfText(text)).toEqual([{ text }]),
);

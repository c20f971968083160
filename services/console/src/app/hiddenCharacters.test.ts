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

it.each([
  '\u200B',
  '\u200D',
  '\u200E',
  '\u200F',
  '\u2066',
  '\u2069',
  '\uFEFF',
  '\u061C',
  '\u00AD',
  '\u034F',
  '\u115F',
  '\u3164',
  '\u2800',
  '\u{E0041}',
])('%j within a word is shown, and copied as it is', (sign) => {
  const parts = partsOfText(`ad${sign}min`);
  expect(parts[1]?.code).toMatch(/^U\+[0-9A-F]{4,5}$/);
  expect(parts.map((part) => part.text).join('')).toBe(`ad${sign}min`);
});

it.each([
  'plain',
  '',
  'سلام ahoj',
  '👩\u200D👩\u200D👧',
  '🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F}',
  'می\u200Cخواهم',
  '10\u200Cها',
  '۱۰\u200Cها',
  'क्\u200Dष',
  'ខ្ញុំ\u200Bទៅ',
  'ไป\u200Bบ้าน',
  'ໄປ\u200Bບ້ານ',
  'မြန်\u200Bမာ',
  'C++\u200E שפת',
  'שלום!\u200F',
  'سعر \u061C5',
])('%j is one part', (text) => expect(partsOfText(text)).toEqual([{ text }]));

it.each(['\u202E', '\u202B', '\u2067', '\u2069'])('%j is shown in every script', (sign) =>
  expect(partsOfText(`שלום${sign}שלום`)[1]?.code).toBeDefined(),
);

it('a joiner between Latin digits is shown', () =>
  expect(partsOfText('10\u200D20')[1]?.code).toBe('U+200D'));

it('a piece of a text is decided by the characters around it', () => {
  expect(partsOfText('\u200Cخواهم', 'می')).toEqual([{ text: '\u200Cخواهم' }]);
  expect(partsOfText('ទៅ\u200B', '', 'x')).toEqual([{ text: 'ទៅ\u200B' }]);
  expect(partsOfText('ad\u200B', 'a\u200Bb', 'min\u200B')).toEqual([
    { text: 'ad' },
    { text: '\u200B', code: 'U+200B' },
  ]);
});

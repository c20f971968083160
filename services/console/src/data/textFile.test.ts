import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { tarOf } from './archive';
import { readTextFile, refusalOf } from './textFile';

const MOST = 100_000;
const bytes = (text: string) => Uint8Array.from(text, (sign) => sign.charCodeAt(0));
const gz = (text: string) => new File([new Uint8Array(gzipSync(text))], 'a.log.gz');

it('a gzip file is unpacked, and loses the ending of its name', async () => {
  const read = await readTextFile(gz('one\ntwo\n'), MOST);
  expect(await read.text.text()).toBe('one\ntwo\n');
  expect(read).toMatchObject({ name: 'a.log', isTooLarge: false, refusal: null });
});

it('the unpacked size counts, and no more is unpacked than may be loaded', async () => {
  const read = await readTextFile(gz('a line\n'.repeat(1_000_000)), MOST);
  expect(read).toMatchObject({ isTooLarge: true, refusal: null });
  expect(read.text.size).toBeLessThan(10 * MOST);
  expect(await readTextFile(new File(['a'.repeat(MOST + 1)], 'a'), MOST)).toMatchObject({
    isTooLarge: true,
  });
});

it('a damaged gzip file, and an archive in one, are refused', async () => {
  const whole = new Uint8Array(gzipSync('a line\n'.repeat(100)));
  const damaged = await readTextFile(new File([whole.slice(0, 30)], 'a.gz'), MOST);
  expect(damaged.refusal).toContain('is damaged');
  const archive = gzipSync(tarOf([{ path: 'a', text: 'b' }]));
  const packed = await readTextFile(new File([new Uint8Array(archive)], 'a.tgz'), MOST);
  expect(packed.refusal).toBe('This is a tar archive: unpack it first');
});

it('archives, packed files, binary files and empty files are refused', () => {
  expect(refusalOf(tarOf([{ path: 'a', text: 'b' }]))).toBe(
    'This is a tar archive: unpack it first',
  );
  expect(refusalOf(bytes('PK\x03\x04abc'))).toBe('This is a zip archive: unpack it first');
  expect(refusalOf(bytes('BZh91AY'))).toBe('This is compressed with bzip2: unpack it first');
  expect(refusalOf(bytes('\xfd7zXZ\0'))).toBe('This is compressed with xz: unpack it first');
  expect(refusalOf(bytes('\x28\xb5\x2f\xfdabc'))).toContain('zstd');
  expect(refusalOf(bytes('\x01\x00\x00\xc5b\xfa'))).toBe('This file is binary, not text');
  expect(refusalOf(bytes('%PDF-1.7'))).toBe('This file is binary, not text');
  expect(refusalOf(new Uint8Array())).toBe('The file is empty');
});

it('texts of every character set are taken', () => {
  for (const text of [
    'a\nb',
    'caf\xe9',
    'P',
    '\xff\xfea\0b\0',
    '\xff\xfe\0\0a\0\0\0',
    '\0\0\xfe\xff\0\0\0a',
    'a\0b\0\n\0',
    '\0a\0b',
  ]) {
    expect(refusalOf(bytes(text)), JSON.stringify(text)).toBeNull();
  }
});

/**
 * The text of a file that is to be loaded: gzip is unpacked, and what is no text is refused.
 * Guarantees that no more bytes are unpacked than may be loaded.
 */

export interface TextFile {
  /** Without the ending of a file that was unpacked. */
  name: string;
  /** Of a text that is too large, the beginning at least. */
  text: Blob;
  isTooLarge: boolean;
  /** Why it cannot be loaded. */
  refusal: string | null;
}

/** Bytes at the start of a file that are looked at, as `karst add` does. */
const CHECKED = 8 * 1024;
const TAR_AT = 257;

/** Archives, and texts that are packed in a way that the browser cannot unpack, by their first bytes. */
const PACKED: [string, string][] = [
  ['PK\x03\x04', 'a zip archive'],
  ['PK\x05\x06', 'a zip archive'],
  ['7z\xbc\xaf\x27\x1c', 'a 7-Zip archive'],
  ['Rar!\x1a\x07', 'a RAR archive'],
  ['BZh', 'compressed with bzip2'],
  ['\xfd7zXZ\0', 'compressed with xz'],
  ['\x28\xb5\x2f\xfd', 'compressed with zstd'],
  ['\x04\x22\x4d\x18', 'compressed with lz4'],
];
const BINARY = ['%PDF-', '\x7fELF', '\x89PNG', 'GIF8', '\xff\xd8\xff'];
/** Marks of UTF-16 and UTF-32: such a text has zeros. */
const WIDE = ['\xff\xfe', '\xfe\xff', '\0\0\xfe\xff'];

/** Why a file with this beginning is not loaded; null for a text. */
export function refusalOf(head: Uint8Array): string | null {
  if (head.length === 0) return 'The file is empty';
  const start = String.fromCharCode(...head.subarray(0, 8));
  const packed = PACKED.find(([magic]) => start.startsWith(magic));
  if (packed) return `This is ${packed[1]}: unpack it first`;
  if (String.fromCharCode(...head.subarray(TAR_AT, TAR_AT + 5)) === 'ustar') {
    return 'This is a tar archive: unpack it first';
  }
  const isBinary = BINARY.some((magic) => start.startsWith(magic));
  const isWide = WIDE.some((mark) => start.startsWith(mark)) || isUnmarkedUtf16(head);
  return isBinary || (!isWide && head.includes(0)) ? 'This file is binary, not text' : null;
}

/** Whether most bytes at even places, or most at odd ones, are zeros, and no others: text in Latin letters. */
function isUnmarkedUtf16(head: Uint8Array): boolean {
  const zeros = [0, 0];
  head.forEach((byte, at) => {
    if (byte === 0) zeros[at % 2] = (zeros[at % 2] ?? 0) + 1;
  });
  return Math.min(...zeros) === 0 && Math.max(...zeros) > head.length / 4;
}

const headOf = async (text: Blob) => new Uint8Array(await text.slice(0, CHECKED).arrayBuffer());

/** `most`: bytes that may be loaded. */
export async function readTextFile(file: File, most: number): Promise<TextFile> {
  const head = await headOf(file);
  const { name } = file;
  if (head[0] !== 0x1f || head[1] !== 0x8b) {
    return { name, text: file, isTooLarge: file.size > most, refusal: refusalOf(head) };
  }
  try {
    const text = await unpacked(file, most);
    const refusal = refusalOf(await headOf(text));
    return { name: name.replace(/\.gz$/i, ''), text, isTooLarge: text.size > most, refusal };
  } catch {
    const refusal = 'This gzip file is damaged, or has several parts: unpack it first';
    return { name, text: new Blob(), isTooLarge: false, refusal };
  }
}

/** The text of a gzip file; one that is larger than `most` ends somewhere behind it. */
async function unpacked(file: Blob, most: number): Promise<Blob> {
  const reader = file.stream().pipeThrough(new DecompressionStream('gzip')).getReader();
  const parts: BlobPart[] = [];
  for (let size = 0; size <= most; ) {
    const { done, value } = await reader.read();
    if (done) return new Blob(parts);
    parts.push(value);
    size += value.length;
  }
  await reader.cancel();
  return new Blob(parts);
}

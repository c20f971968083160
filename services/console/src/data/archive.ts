/**
 * A source type as a packed app: what the intake applies are the files of apps, and an app is installed at run time.
 * Guarantees that names and values cannot end the stanza or leave the app's directory.
 */

import { type FieldPair, stanzaText } from './preview';

export interface ArchiveFile {
  path: string;
  text: string;
}

const BLOCK = 512;

/** An archive of text files, ustar. A path has at most 100 bytes. */
export function tarOf(files: readonly ArchiveFile[]): Uint8Array<ArrayBuffer> {
  const encoder = new TextEncoder();
  const parts = files.map(({ path, text }) => ({ path, content: encoder.encode(text) }));
  const padded = (length: number) => Math.ceil(length / BLOCK) * BLOCK;
  const size = parts.reduce((sum, part) => sum + BLOCK + padded(part.content.length), 0);
  // Two empty blocks end an archive.
  const archive = new Uint8Array(size + 2 * BLOCK);
  let at = 0;
  for (const { path, content } of parts) {
    archive.set(headerOf(encoder.encode(path), content.length), at);
    archive.set(content, at + BLOCK);
    at += BLOCK + padded(content.length);
  }
  return archive;
}

function headerOf(path: Uint8Array, length: number): Uint8Array {
  if (path.length > 100) throw new Error('the path of a file in the archive is too long');
  const header = new Uint8Array(BLOCK);
  const put = (at: number, text: string) => header.set(new TextEncoder().encode(text), at);
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`;
  header.set(path);
  put(100, octal(0o644, 7));
  put(108, octal(0, 7));
  put(116, octal(0, 7));
  put(124, octal(length, 11));
  put(136, octal(0, 11));
  // The checksum counts its own field as spaces.
  put(148, '        ');
  put(156, '0');
  put(257, 'ustar\x0000');
  const sum = header.reduce((total, byte) => total + byte, 0);
  put(148, `${sum.toString(8).padStart(6, '0')}\0 `);
  return header;
}

/** Why a name is not one of a source type; null if it is. */
export function sourceTypeProblem(name: string): string | null {
  if (name.trim() === '') return 'A name is required.';
  if (/[[\]\r\n*?"]|^#/.test(name)) return 'A name has no brackets, quotation marks, * or ?.';
  if (/^(?:source|host|rule|delayedrule)::/.test(name) || name === 'default') {
    return `${name} is not the name of a source type.`;
  }
  return name.length > 60 ? 'A name has at most 60 characters.' : null;
}

/** The app that a source type is saved in. */
export const appOf = (sourcetype: string): string =>
  `sourcetype_${sourcetype.replace(/[^\w.-]/g, '_')}`;

/** The app of a source type, whose settings hold in all apps. */
export function packSourceType(name: string, settings: readonly FieldPair[]): Blob {
  const app = appOf(name);
  const files = [
    {
      path: `${app}/default/app.conf`,
      text: `[ui]\nis_visible = false\nlabel = Source type ${name}\n`,
    },
    { path: `${app}/default/props.conf`, text: stanzaText(name, settings) },
    { path: `${app}/metadata/default.meta`, text: '[]\nexport = system\n' },
  ];
  return new Blob([tarOf(files)], { type: 'application/x-tar' });
}

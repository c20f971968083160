import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { appOf, packSourceType, sourceTypeProblem, tarOf } from './archive';

/** The files that tar finds in an archive. */
function unpacked(archive: Uint8Array, read: (path: (name: string) => string) => void) {
  const directory = mkdtempSync(join(tmpdir(), 'karst-archive-'));
  try {
    execFileSync('tar', ['-x', '-C', directory], { input: archive });
    read((name) => readFileSync(join(directory, name), 'utf8'));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

it('tar reads the archive', () => {
  const long = 'ä'.repeat(700);
  const files = [
    { path: 'a/one.conf', text: '[x]\n' },
    { path: 'a/two.conf', text: long },
    { path: 'a/empty', text: '' },
  ];
  unpacked(tarOf(files), (text) => {
    expect(text('a/one.conf')).toBe('[x]\n');
    expect(text('a/two.conf')).toBe(long);
    expect(text('a/empty')).toBe('');
  });
});

it('a source type is an app whose settings hold in all apps', async () => {
  const packed = packSourceType('cisco:asa', [['TZ', 'UTC']]);
  unpacked(new Uint8Array(await packed.arrayBuffer()), (text) => {
    expect(text('sourcetype_cisco_asa/default/props.conf')).toBe('[cisco:asa]\nTZ = UTC\n');
    expect(text('sourcetype_cisco_asa/metadata/default.meta')).toContain('export = system');
  });
});

it('the name of a source type ends no stanza and no directory', () => {
  expect(sourceTypeProblem('access_combined')).toBeNull();
  expect(sourceTypeProblem('cisco:asa')).toBeNull();
  for (const name of ['', ' ', 'a]', 'a\nb', 'source::x', 'default', 'a*', 'x'.repeat(61)]) {
    expect(sourceTypeProblem(name), name).not.toBeNull();
  }
  expect(appOf('../x')).toBe('sourcetype_.._x');
});

import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const STYLES = 'node_modules/@mantine/core/styles';
const IMPORT = /import \{([^}]*)\} from '@mantine\/core'/g;

/** Components of the library that the sources import. */
function used(): string[] {
  const names = new Set<string>();
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((name) => name.endsWith('.tsx'))) {
    for (const [, list = ''] of readFileSync(`src/${file}`, 'utf8').matchAll(IMPORT)) {
      for (const name of list.split(',')) names.add(name.trim());
    }
  }
  return [...names].filter((name) => /^[A-Z]/.test(name));
}

it('every component of the library that is used has its styles', () => {
  const imported = readFileSync('src/app/mantine.ts', 'utf8');
  const names = used();
  expect(names).toContain('Button');
  const missing = names.filter(
    (name) => existsSync(`${STYLES}/${name}.css`) && !imported.includes(`/${name}.css'`),
  );
  expect(missing, 'add them to src/app/mantine.ts').toEqual([]);
});

/** Dialogs that stay mounted while they are closed: Mantine gives the focus back. */
const MOUNTED = [
  'app/LoginPage.tsx',
  'app/Modal.tsx',
  'app/ShortcutsHelp.tsx',
  'dashboards/pages/DashboardPage.tsx',
];

it('dialogs that are mounted open give the focus back', () => {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' });
  const plain = files.filter((name) => {
    if (!name.endsWith('.tsx')) return false;
    const imports = [...readFileSync(`src/${name}`, 'utf8').matchAll(IMPORT)];
    return imports.some(([, list = '']) => /\bModal\b/.test(list));
  });
  expect(plain.sort(), 'import Modal from app/Modal').toEqual(MOUNTED);
});

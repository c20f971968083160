/** Ctrl+K: pages, apps, reports, earlier searches and commands by their names. */

import { useComputedColorScheme, useMantineColorScheme } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, useEffect, useId, useMemo, useRef, useState } from 'react';
import type { AppInfo } from '../api/types';
import { readHistory } from '../query/history';
import { REPORTS } from '../reports/reportLists';
import { DEFAULT_RANGE } from '../time/timeRange';
import { AREAS } from './areas';
import { useClient } from './clientContext';
import { Modal } from './Modal';
import styles from './Palette.module.css';
import { NAMED_PAGES } from './pages';
import { matching, type PaletteItem } from './palette';
import { addressOf, navigate, paths } from './routing';
import { Visible } from './Visible';

interface PaletteProps {
  apps: AppInfo[];
  app: string;
  onClose: () => void;
  onKeys: () => void;
  onSignOut: () => void;
}

const MOST_SEARCHES = 50;

export default function Palette(props: PaletteProps) {
  const { onClose } = props;
  const items = useItems(props);
  const [typed, setTyped] = useState('');
  const [active, setActive] = useState(0);
  const listId = useId();
  const list = useRef<HTMLDivElement>(null);
  const found = useMemo(() => matching(items, typed), [items, typed]);
  const chosen = Math.min(active, found.length - 1);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the marked item is the reason
  useEffect(() => {
    list.current?.querySelector('[aria-selected="true"]')?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);

  const run = (item: PaletteItem | undefined) => {
    if (!item) return;
    onClose();
    item.run();
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === 'ArrowDown') setActive((chosen + 1) % Math.max(1, found.length));
    else if (event.key === 'ArrowUp') setActive(chosen <= 0 ? found.length - 1 : chosen - 1);
    else if (event.key === 'Enter') run(found[chosen]);
    else return;
    event.preventDefault();
  };

  return (
    <Modal
      opened
      onClose={onClose}
      withCloseButton={false}
      padding={0}
      size="lg"
      yOffset="10vh"
      aria-label="Go to"
      data-testid="palette"
    >
      <input
        className={styles.input}
        type="text"
        role="combobox"
        aria-expanded="true"
        aria-controls={listId}
        aria-activedescendant={found[chosen] ? `${listId}-${chosen}` : undefined}
        aria-label="Go to a page, app, report or earlier search"
        placeholder="Page, app, report, earlier search …"
        spellCheck={false}
        autoComplete="off"
        data-autofocus
        value={typed}
        onChange={(event) => {
          setTyped(event.currentTarget.value);
          setActive(0);
        }}
        onKeyDown={onKeyDown}
      />
      <div className={styles.list} id={listId} role="listbox" aria-label="Found" ref={list}>
        {found.map((item, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: keys are handled by the input
          <div
            key={item.id}
            id={`${listId}-${index}`}
            role="option"
            tabIndex={-1}
            className={styles.item}
            aria-selected={index === chosen}
            onClick={() => run(item)}
          >
            <span className={styles.label} data-code={item.group === 'Earlier searches'}>
              <Visible text={item.label} />
            </span>
            <span className={styles.detail}>{item.detail ?? item.group}</span>
          </div>
        ))}
      </div>
      {found.length === 0 && <p className={styles.none}>Nothing has that name.</p>}
    </Modal>
  );
}

function useItems({ apps, app, onKeys, onSignOut }: PaletteProps): PaletteItem[] {
  const client = useClient();
  const { setColorScheme } = useMantineColorScheme();
  const isDark = useComputedColorScheme('light') === 'dark';
  const reports = useQuery({
    queryKey: [...REPORTS, app],
    queryFn: ({ signal }) => client.reports({ owner: '-', app }, signal),
    staleTime: 30_000,
  });
  return useMemo(() => {
    const searches = readHistory(localStorage).slice(0, MOST_SEARCHES);
    const search = (query: string) => addressOf(paths.search(app), { q: query, ...DEFAULT_RANGE });
    const item = (group: string, label: string, run: () => void, detail?: string): PaletteItem => ({
      id: `${group}\u0000${label}\u0000${detail ?? ''}`,
      group,
      label,
      detail,
      run,
    });
    return [
      ...AREAS.map((area) => item('Pages', area.name, () => navigate(area.href(app)), 'Page')),
      ...NAMED_PAGES.map((page) =>
        item('Pages', page.title, () => navigate(page.href), `Page of ${page.area}`),
      ),
      ...apps
        .filter((one) => one.name !== app)
        .map((one) => item('Apps', one.label, () => navigate(paths.search(one.name)), 'App')),
      ...(reports.data ?? []).map((report) =>
        item(
          'Reports',
          report.name,
          () => navigate(paths.report(app, report)),
          `Report of ${report.app}`,
        ),
      ),
      item('Commands', isDark ? 'Light colours' : 'Dark colours', () =>
        setColorScheme(isDark ? 'light' : 'dark'),
      ),
      item('Commands', 'Keys', onKeys),
      item('Commands', 'Sign out', onSignOut),
      ...searches.map((query) => item('Earlier searches', query, () => navigate(search(query)))),
    ];
  }, [apps, app, reports.data, isDark, setColorScheme, onKeys, onSignOut]);
}

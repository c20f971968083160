/** The bar of an app: what its `nav/default.xml` names, or its dashboards. */

import { Menu } from '@mantine/core';
import { IconChevronDown } from '@tabler/icons-react';
import { useEffect, useState } from 'react';
import { type NavItem, type Navigation, namedViews, readNavigationText } from '../model/navigation';
import { safeAddress } from '../runtime/links';
import type { DashboardServer, ViewInfo } from '../runtime/server';
import styles from './AppNav.module.css';

interface AppNavProps {
  app: string;
  view: string;
  server: DashboardServer;
}

interface Loaded {
  label: string;
  navigation: Navigation;
  views: ViewInfo[];
}

/** Pages of every app. */
const PAGES: Record<string, string> = {
  search: 'Search',
  dashboards: 'Dashboards',
  reports: 'Reports',
  alerts: 'Alerts',
  datasets: 'Datasets',
};

const DEFAULT: Navigation = {
  items: [
    { kind: 'view', name: 'search', label: null },
    { kind: 'view', name: 'dashboards', label: null },
  ],
  start: 'search',
  color: null,
};

async function load(server: DashboardServer, app: string): Promise<Loaded> {
  const [label, text, views] = await Promise.all([
    server.appLabel(app).catch(() => app),
    server.readNavigation(app).catch(() => null),
    server.listViews(app).catch(() => []),
  ]);
  let navigation = DEFAULT;
  if (text !== null) {
    try {
      navigation = readNavigationText(text);
    } catch {
      // An app with a broken navigation is still reached.
    }
  }
  return { label, navigation, views };
}

export function AppNav({ app, view, server }: AppNavProps) {
  const [loaded, setLoaded] = useState<Loaded | null>(null);
  useEffect(() => {
    let isLeft = false;
    load(server, app).then((found) => !isLeft && setLoaded(found));
    return () => {
      isLeft = true;
    };
  }, [server, app]);
  const navigation = loaded?.navigation ?? DEFAULT;
  return (
    <nav className={styles.bar} aria-label={`Pages of ${loaded?.label ?? app}`}>
      <a
        className={styles.app}
        href={`/app/${encodeURIComponent(app)}/${navigation.start ?? 'dashboards'}`}
      >
        {loaded?.label ?? app}
      </a>
      <div className={styles.items}>
        {navigation.items.map((item, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: items have no identity of their own
          <Item key={at} item={item} app={app} view={view} loaded={loaded} />
        ))}
      </div>
    </nav>
  );
}

interface Target {
  href: string;
  label: string;
  isCurrent: boolean;
}

/** Where an item leads; several for one that stands for the views of the app. */
function targets(item: NavItem, app: string, view: string, loaded: Loaded | null): Target[] {
  const page = (name: string) => `/app/${encodeURIComponent(app)}/${encodeURIComponent(name)}`;
  const views = loaded?.views ?? [];
  switch (item.kind) {
    case 'view': {
      const known = views.find((one) => one.name === item.name);
      const label = item.label ?? known?.label ?? PAGES[item.name] ?? item.name;
      return [{ href: page(item.name), label, isCurrent: item.name === view }];
    }
    case 'views': {
      const named = namedViews(loaded?.navigation.items ?? []);
      return views
        .filter((one) => one.app === app && one.isVisible)
        .filter((one) => !item.isUnclassified || !named.has(one.name))
        .filter((one) => one.name.toLowerCase().includes(item.match.toLowerCase()))
        .map((one) => ({ href: page(one.name), label: one.label, isCurrent: one.name === view }));
    }
    case 'report': {
      const place = `/servicesNS/nobody/${app}/saved/searches/${item.name}`;
      return [
        {
          href: `${page('report')}?s=${encodeURIComponent(place)}`,
          label: item.label ?? item.name,
          isCurrent: false,
        },
      ];
    }
    case 'link': {
      const href = safeAddress(item.href, app);
      return href === null ? [] : [{ href, label: item.label, isCurrent: false }];
    }
    default:
      return [];
  }
}

interface ItemProps {
  item: NavItem;
  app: string;
  view: string;
  loaded: Loaded | null;
}

function Item({ item, app, view, loaded }: ItemProps) {
  if (item.kind === 'divider') return null;
  if (item.kind !== 'group') {
    return (
      <>
        {targets(item, app, view, loaded).map((target) => (
          <a
            key={target.href}
            href={target.href}
            aria-current={target.isCurrent ? 'page' : undefined}
            {...outside(target.href)}
          >
            {target.label}
          </a>
        ))}
      </>
    );
  }
  const all = flat(item, app, view, loaded);
  if (all.length === 0) return null;
  return (
    <Menu position="bottom-start" withinPortal>
      <Menu.Target>
        <button type="button" data-current={all.some((one) => one.target?.isCurrent)}>
          {item.label} <IconChevronDown size={13} aria-hidden="true" />
        </button>
      </Menu.Target>
      <Menu.Dropdown className={styles.menu}>
        {all.map(({ key, heading, target }) =>
          target ? (
            <Menu.Item key={key} component="a" href={target.href} {...outside(target.href)}>
              {target.label}
            </Menu.Item>
          ) : heading === '' ? (
            <Menu.Divider key={key} />
          ) : (
            <Menu.Label key={key}>{heading}</Menu.Label>
          ),
        )}
      </Menu.Dropdown>
    </Menu>
  );
}

interface Entry {
  key: string;
  heading: string;
  target: Target | null;
}

/** A group with the groups in it as one list. */
function flat(item: NavItem, app: string, view: string, loaded: Loaded | null, path = ''): Entry[] {
  if (item.kind === 'divider') return [{ key: path, heading: '', target: null }];
  if (item.kind !== 'group') {
    return targets(item, app, view, loaded).map((target, at) => ({
      key: `${path}.${at}`,
      heading: '',
      target,
    }));
  }
  const inner = item.items.flatMap((one, at) => flat(one, app, view, loaded, `${path}/${at}`));
  return path === '' || inner.length === 0
    ? inner
    : [{ key: `${path}#`, heading: item.label || ' ', target: null }, ...inner];
}

const outside = (href: string) =>
  /^https?:/i.test(href) ? { target: '_blank', rel: 'noopener noreferrer' } : {};

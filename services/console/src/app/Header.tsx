import {
  ActionIcon,
  Button,
  Menu,
  Tooltip,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core';
import { IconLogout, IconMoon, IconSun, IconUser } from '@tabler/icons-react';
import type { ServerInfo } from '../api/types';
import styles from './Header.module.css';
import { Logo } from './Logo';

const PAGES = [
  { path: '/', name: 'Search' },
  { path: '/cluster', name: 'Cluster' },
];

interface HeaderProps {
  server: ServerInfo | null;
  /** The path of the page that is shown. */
  page: string;
  username: string;
  onSignOut: () => void;
}

export function Header({ server, page, username, onSignOut }: HeaderProps) {
  return (
    <header className={styles.header}>
      <a className={styles.name} href="/" title="New search">
        <Logo />
        Karst
      </a>
      <nav className={styles.nav} aria-label="Pages">
        {PAGES.map(({ path, name }) => (
          <a key={path} href={path} aria-current={path === page ? 'page' : undefined}>
            {name}
          </a>
        ))}
      </nav>
      <div className={styles.right}>
        {server && (
          <span className={styles.server} data-testid="server">
            {server.serverName || 'server'} <span>{server.version}</span>
          </span>
        )}
        <SchemeToggle />
        <Menu position="bottom-end">
          <Menu.Target>
            <Button
              size="compact-sm"
              variant="subtle"
              color="gray"
              leftSection={<IconUser size={15} />}
              data-testid="user-menu"
            >
              {username}
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item leftSection={<IconLogout size={14} />} onClick={onSignOut}>
              Sign out
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </div>
    </header>
  );
}

function SchemeToggle() {
  const { setColorScheme } = useMantineColorScheme();
  const isDark = useComputedColorScheme('light') === 'dark';
  const label = isDark ? 'Light colours' : 'Dark colours';
  return (
    <Tooltip label={label}>
      <ActionIcon
        variant="subtle"
        color="gray"
        aria-label={label}
        onClick={() => setColorScheme(isDark ? 'light' : 'dark')}
      >
        {isDark ? <IconSun size={16} /> : <IconMoon size={16} />}
      </ActionIcon>
    </Tooltip>
  );
}

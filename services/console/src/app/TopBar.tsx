/** The bar above every view: the app, the palette, the server, the user. */

import {
  ActionIcon,
  Button,
  Kbd,
  Menu,
  Tooltip,
  useComputedColorScheme,
  useMantineColorScheme,
} from '@mantine/core';
import {
  IconApps,
  IconCheck,
  IconChevronDown,
  IconCommand,
  IconKey,
  IconKeyboard,
  IconLogout,
  IconMenu2,
  IconMoon,
  IconSun,
  IconUser,
} from '@tabler/icons-react';
import type { AppInfo, ServerInfo } from '../api/types';
import { Logo } from './Logo';
import { PageLink } from './PageLink';
import { appLabel, navigate, paths } from './routing';
import styles from './TopBar.module.css';

interface TopBarProps {
  server: ServerInfo | null;
  apps: AppInfo[];
  app: string;
  username: string;
  isMenuOpen: boolean;
  onMenu: () => void;
  onPalette: () => void;
  onKeys: () => void;
  /** Null for a user who may not change the own password. */
  onPassword: (() => void) | null;
  onSignOut: () => void;
}

export function TopBar(props: TopBarProps) {
  const { server, apps, app, username, isMenuOpen, onMenu, onPalette, onKeys } = props;
  const { onPassword, onSignOut } = props;
  return (
    <header className={styles.bar}>
      <ActionIcon
        className={styles.menu}
        aria-label="Areas"
        aria-expanded={isMenuOpen}
        aria-controls="areas"
        onClick={onMenu}
      >
        <IconMenu2 size={18} />
      </ActionIcon>
      <PageLink className={styles.name} href={paths.home()} title="Home">
        <Logo />
        <span>Karst</span>
      </PageLink>
      <AppSwitcher apps={apps} app={app} />
      <div className={styles.right}>
        <Button
          className={styles.palette}
          size="compact-sm"
          variant="default"
          leftSection={<IconCommand size={14} />}
          rightSection={<Kbd size="xs">Ctrl K</Kbd>}
          aria-label="Go to … Ctrl K"
          onClick={onPalette}
          data-testid="open-palette"
        >
          <span>Go to …</span>
        </Button>
        {server && (
          <span className={styles.server} data-testid="server">
            {server.serverName || 'server'}{' '}
            <span title={`Karst ${server.version}`}>{server.version}</span>
          </span>
        )}
        <SchemeToggle />
        <Menu position="bottom-end">
          <Menu.Target>
            <Button
              className={styles.user}
              size="compact-sm"
              variant="subtle"
              color="gray"
              leftSection={<IconUser size={15} />}
              aria-label={`User ${username}`}
              title={username}
              data-testid="user-menu"
            >
              {username}
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item leftSection={<IconKeyboard size={14} />} onClick={onKeys}>
              Keys
            </Menu.Item>
            {onPassword && (
              <Menu.Item leftSection={<IconKey size={14} />} onClick={onPassword}>
                Change password …
              </Menu.Item>
            )}
            <Menu.Item leftSection={<IconLogout size={14} />} onClick={onSignOut}>
              Sign out
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </div>
    </header>
  );
}

function AppSwitcher({ apps, app }: { apps: AppInfo[]; app: string }) {
  const label = appLabel(apps, app);
  return (
    <Menu position="bottom-start">
      <Menu.Target>
        <Button
          className={styles.app}
          size="compact-sm"
          variant="subtle"
          color="gray"
          leftSection={<IconApps size={15} />}
          rightSection={<IconChevronDown size={13} />}
          aria-label={`App: ${label}`}
          title={label}
          data-testid="app-switcher"
        >
          {label}
        </Button>
      </Menu.Target>
      <Menu.Dropdown className={styles.apps}>
        <Menu.Label>Apps</Menu.Label>
        {apps.length === 0 && <Menu.Item disabled>{label}</Menu.Item>}
        {apps.map((one) => (
          <Menu.Item
            key={one.name}
            rightSection={one.name === app ? <IconCheck size={14} aria-label="current" /> : null}
            onClick={() => navigate(paths.search(one.name))}
          >
            {one.label}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
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

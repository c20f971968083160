/** The areas of the product in the order of the rail. Only what has a page is here. */

import {
  type Icon,
  IconDatabase,
  IconHeartRateMonitor,
  IconHome,
  IconLayoutDashboard,
  IconListDetails,
  IconReportAnalytics,
  IconSearch,
  IconSettings,
} from '@tabler/icons-react';
import { MONITOR_PAGES, paths, type Route } from './routing';

export interface Area {
  name: string;
  /** The second key after `g`. */
  key: string;
  icon: Icon;
  href: (app: string) => string;
  views: Route['view'][];
}

export const AREAS: readonly Area[] = [
  { name: 'Home', key: 'h', icon: IconHome, href: paths.home, views: ['home'] },
  { name: 'Search', key: 's', icon: IconSearch, href: paths.search, views: ['search'] },
  { name: 'Reports', key: 'r', icon: IconReportAnalytics, href: paths.reports, views: ['reports'] },
  {
    name: 'Dashboards',
    key: 'd',
    icon: IconLayoutDashboard,
    href: paths.dashboards,
    views: ['dashboards', 'dashboard'],
  },
  { name: 'Jobs', key: 'j', icon: IconListDetails, href: paths.jobs, views: ['jobs', 'inspect'] },
  {
    name: 'Data',
    key: 'i',
    icon: IconDatabase,
    href: () => paths.data('indexes'),
    views: ['data'],
  },
  {
    name: 'Monitor',
    key: 'm',
    icon: IconHeartRateMonitor,
    href: () => paths.monitor(MONITOR_PAGES[0]),
    views: ['monitor'],
  },
  {
    name: 'Settings',
    key: 'c',
    icon: IconSettings,
    href: () => paths.settings('users'),
    views: ['settings'],
  },
];

export const areaOf = (route: Route): Area | undefined =>
  AREAS.find((area) => area.views.includes(route.view));

/** The areas of the product in the order of the rail. Only what has a page is here. */

import {
  type Icon,
  IconLayoutDashboard,
  IconListDetails,
  IconReportAnalytics,
  IconSearch,
  IconTopologyStar3,
} from '@tabler/icons-react';
import { paths, type Route } from './routing';

export interface Area {
  name: string;
  /** The second key after `g`. */
  key: string;
  icon: Icon;
  href: (app: string) => string;
  views: Route['view'][];
}

export const AREAS: readonly Area[] = [
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
  { name: 'Cluster', key: 'm', icon: IconTopologyStar3, href: paths.cluster, views: ['cluster'] },
];

export const areaOf = (route: Route): Area | undefined =>
  AREAS.find((area) => area.views.includes(route.view));

/** The pages of an area, above each of them. */

import { PageLink } from '../app/PageLink';
import styles from './Objects.module.css';

interface SectionTabsProps {
  label: string;
  tabs: readonly { label: string; href: string; isCurrent: boolean }[];
}

export function SectionTabs({ label, tabs }: SectionTabsProps) {
  return (
    <nav className={styles.tabs} aria-label={label}>
      {tabs.map((tab) => (
        <PageLink key={tab.href} href={tab.href} aria-current={tab.isCurrent ? 'page' : undefined}>
          {tab.label}
        </PageLink>
      ))}
    </nav>
  );
}

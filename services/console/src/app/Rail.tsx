/** The areas of the product at the left edge; folded they are icons. On a narrow screen it opens as a sheet. */

import { Tooltip } from '@mantine/core';
import { IconChevronsLeft, IconChevronsRight } from '@tabler/icons-react';
import { AREAS, areaOf } from './areas';
import { PageLink } from './PageLink';
import { useRailFolded } from './preferences';
import styles from './Rail.module.css';
import type { Route } from './routing';

interface RailProps {
  route: Route;
  app: string;
  /** On a narrow screen: whether it is shown. */
  isOpen: boolean;
  onClose: () => void;
}

export function Rail({ route, app, isOpen, onClose }: RailProps) {
  const [folded, setFolded] = useRailFolded();
  const current = areaOf(route);
  const label = folded ? 'Unfold' : 'Fold';
  return (
    <>
      {isOpen && <div className={styles.shade} onPointerDown={onClose} />}
      <nav
        className={styles.rail}
        data-folded={folded}
        data-open={isOpen}
        aria-label="Areas"
        id="areas"
      >
        {AREAS.map((area) => (
          <Tooltip key={area.name} label={area.name} position="right" disabled={!folded}>
            <PageLink
              href={area.href(app)}
              className={styles.area}
              aria-current={area === current ? 'page' : undefined}
              onClick={onClose}
            >
              <area.icon size={18} stroke={1.6} aria-hidden="true" />
              <span className={styles.name}>{area.name}</span>
            </PageLink>
          </Tooltip>
        ))}
        <button
          type="button"
          className={styles.fold}
          aria-expanded={!folded}
          title={label}
          onClick={() => setFolded(!folded)}
        >
          {folded ? <IconChevronsRight size={16} /> : <IconChevronsLeft size={16} />}
          <span className={styles.name}>{label}</span>
        </button>
      </nav>
    </>
  );
}

/** An address without a view: what there is instead. */

import { Empty } from '../states/Empty';
import { AREAS } from './areas';
import styles from './NotFoundPage.module.css';
import { PageLink } from './PageLink';
import { useTitle } from './useTitle';

export function NotFoundPage({ path, app }: { path: string; app: string }) {
  useTitle('Not found');
  return (
    <div className={styles.page} data-testid="not-found">
      <Empty title="There is no page at this address">
        <p>
          <code>{path}</code>
        </p>
        <p>The link may be from another product or a later version. These pages exist:</p>
        <ul>
          {AREAS.map((area) => (
            <li key={area.name}>
              <PageLink href={area.href(app)}>{area.name}</PageLink>
            </li>
          ))}
        </ul>
        <p>
          Tasks that have no page yet can be done with the command line (karst --help) and over
          REST.
        </p>
      </Empty>
    </div>
  );
}

import { ActionIcon, Pagination } from '@mantine/core';
import { IconChevronLeft, IconChevronRight } from '@tabler/icons-react';
import { grouped, plural } from './format';
import styles from './Pager.module.css';

interface PagerProps {
  page: number;
  size: number;
  total: number;
  noun: string;
  onPage: (page: number) => void;
}

/** Which rows of how many are shown, and the way to the others. */
export function Pager({ page, size, total, noun, onPage }: PagerProps) {
  const pages = Math.ceil(total / size);
  if (total === 0) return null;
  const first = (page - 1) * size + 1;
  const last = Math.min(total, page * size);
  return (
    <div className={styles.pager} data-testid="pager">
      <span>
        {pages === 1
          ? plural(total, noun)
          : `${grouped(first)}–${grouped(last)} of ${grouped(total)}`}
      </span>
      {pages > 1 && (
        <Pagination.Root size="xs" total={pages} value={page} onChange={onPage} siblings={1}>
          <div className={styles.buttons}>
            <ActionIcon
              size="sm"
              variant="subtle"
              color="gray"
              aria-label="Previous page"
              disabled={page === 1}
              onClick={() => onPage(page - 1)}
            >
              <IconChevronLeft size={14} />
            </ActionIcon>
            <Pagination.Items />
            <ActionIcon
              size="sm"
              variant="subtle"
              color="gray"
              aria-label="Next page"
              disabled={page === pages}
              onClick={() => onPage(page + 1)}
            >
              <IconChevronRight size={14} />
            </ActionIcon>
          </div>
        </Pagination.Root>
      )}
    </div>
  );
}

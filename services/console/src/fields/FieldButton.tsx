import { Popover } from '@mantine/core';
import { useMediaQuery } from '@mantine/hooks';
import { useState } from 'react';
import type { FieldSummary } from '../api/types';
import { grouped } from '../app/format';
import { Visible } from '../app/Visible';
import type { FieldActions } from '../events/EventsView';
import styles from './FieldList.module.css';
import { FieldPanel } from './FieldPanel';
import { isNumeric } from './fieldGroups';

export interface FieldButtonProps {
  field: FieldSummary;
  eventCount: number;
  isSelected: boolean;
  onToggle: (field: string) => void;
  actions: FieldActions;
}

/** A line of the field list; opens the field's values. */
export function FieldButton(props: FieldButtonProps) {
  const { field } = props;
  const [isOpen, setOpen] = useState(false);
  const numeric = isNumeric(field);
  const isNarrow = useMediaQuery('(max-width: 760px)', false, { getInitialValueInEffect: false });
  return (
    <Popover
      opened={isOpen}
      onChange={setOpen}
      position={isNarrow ? 'bottom' : 'right-start'}
      offset={6}
      trapFocus
      returnFocus
      withArrow
    >
      <Popover.Target>
        <button
          type="button"
          className={styles.field}
          disabled={field.count === 0}
          aria-expanded={isOpen}
          data-testid={`field-${field.name}`}
          onClick={() => setOpen((open) => !open)}
        >
          <span className={styles.type} title={numeric ? 'numbers' : 'text'}>
            {numeric ? '#' : 'a'}
          </span>
          <span className={styles.name} title={field.name}>
            <Visible text={field.name} />
          </span>
          <span className={styles.distinct}>
            {field.count > 0 && `${grouped(field.distinctCount)}${field.isExact ? '' : '+'}`}
          </span>
        </button>
      </Popover.Target>
      <Popover.Dropdown p={0}>
        <FieldPanel {...props} onClose={() => setOpen(false)} />
      </Popover.Dropdown>
    </Popover>
  );
}

/** Picks a time range: presets, "last N units", two moments in a zone, or any time modifiers. */

import { Button, Popover } from '@mantine/core';
import { IconChevronDown, IconClock } from '@tabler/icons-react';
import { type ComponentType, useState } from 'react';
import { useZone } from '../app/preferences';
import type { TimeRangePanelProps } from './TimeRangePanel';
import styles from './TimeRangePicker.module.css';
import { rangeLabel, type TimeRange } from './timeRange';

interface TimeRangePickerProps {
  range: TimeRange;
  onChange: (range: TimeRange) => void;
}

export function TimeRangePicker({ range, onChange }: TimeRangePickerProps) {
  const [isOpen, setOpen] = useState(false);
  const [panel, setPanel] = useState<{ View: ComponentType<TimeRangePanelProps> } | null>(null);
  const [zone, setZone] = useZone();
  const label = rangeLabel(range, zone);

  const choose = (next: TimeRange) => {
    setOpen(false);
    onChange(next);
  };

  const open = async () => {
    // It opens with its forms, so that the focus goes into them.
    const { default: View } = await import('./TimeRangePanel');
    setPanel({ View });
    setOpen(true);
  };

  /** For the page's own boundary, as any part that does not load. */
  const fail = (error: unknown) =>
    setPanel(() => {
      throw error;
    });

  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-end" trapFocus withinPortal>
      <Popover.Target>
        <Button
          className={styles.button}
          variant="default"
          leftSection={<IconClock size={15} />}
          rightSection={<IconChevronDown size={14} />}
          title={`earliest=${range.earliest || '(unbounded)'} latest=${range.latest || '(unbounded)'}`}
          aria-label={`Time range: ${label}`}
          data-testid="time-range"
          onClick={() => (isOpen ? setOpen(false) : open().catch(fail))}
        >
          {label}
        </Button>
      </Popover.Target>
      <Popover.Dropdown className={styles.panel} data-testid="time-range-panel">
        {panel && <panel.View range={range} zone={zone} onZone={setZone} onChoose={choose} />}
      </Popover.Dropdown>
    </Popover>
  );
}

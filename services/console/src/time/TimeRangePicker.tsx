/** Picks a time range: presets, "last N units", two moments in a zone, or any time modifiers. */

import { Button, Popover, Select, Tabs } from '@mantine/core';
import { IconChevronDown, IconClock } from '@tabler/icons-react';
import { useState } from 'react';
import { useZone } from '../app/preferences';
import { AbsoluteForm, ModifierForm, RelativeForm } from './RangeForms';
import styles from './TimeRangePicker.module.css';
import {
  absoluteParts,
  PRESETS,
  rangeLabel,
  relativeParts,
  sameRange,
  type TimeRange,
} from './timeRange';
import { knownZones } from './zone';

interface TimeRangePickerProps {
  range: TimeRange;
  onChange: (range: TimeRange) => void;
}

const ZONES = knownZones();

function fittingTab(range: TimeRange): string {
  if (absoluteParts(range)) return 'between';
  return relativeParts(range) ? 'last' : 'modifiers';
}

export function TimeRangePicker({ range, onChange }: TimeRangePickerProps) {
  const [isOpen, setOpen] = useState(false);
  const [zone, setZone] = useZone();
  const label = rangeLabel(range, zone);

  const choose = (next: TimeRange) => {
    setOpen(false);
    onChange(next);
  };

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
          onClick={() => setOpen((open) => !open)}
        >
          {label}
        </Button>
      </Popover.Target>
      <Popover.Dropdown className={styles.panel} data-testid="time-range-panel">
        <div className={styles.presets}>
          {PRESETS.map((preset) => (
            <button
              key={preset.label}
              type="button"
              aria-pressed={sameRange(preset.range, range)}
              onClick={() => choose(preset.range)}
            >
              {preset.label}
            </button>
          ))}
        </div>
        <div className={styles.forms}>
          <Tabs defaultValue={fittingTab(range)} keepMounted={false}>
            <Tabs.List>
              <Tabs.Tab value="last">Last</Tabs.Tab>
              <Tabs.Tab value="between">Between</Tabs.Tab>
              <Tabs.Tab value="modifiers">Modifiers</Tabs.Tab>
            </Tabs.List>
            <Tabs.Panel value="last">
              <RelativeForm range={range} onApply={choose} />
            </Tabs.Panel>
            <Tabs.Panel value="between">
              <AbsoluteForm key={zone} range={range} zone={zone} onApply={choose} />
            </Tabs.Panel>
            <Tabs.Panel value="modifiers">
              <ModifierForm range={range} onApply={choose} />
            </Tabs.Panel>
          </Tabs>
          <Select
            className={styles.zone}
            size="xs"
            label="Show and enter times in"
            searchable
            allowDeselect={false}
            limit={200}
            data={ZONES.includes(zone) ? ZONES : [zone, ...ZONES]}
            value={zone}
            onChange={(next) => next && setZone(next)}
            comboboxProps={{ withinPortal: false }}
          />
        </div>
      </Popover.Dropdown>
    </Popover>
  );
}

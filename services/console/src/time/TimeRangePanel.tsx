/** What the time range picker opens: presets, and the forms. Loaded when it is opened first. */

import { Select, Tabs } from '@mantine/core';
import { AbsoluteForm, ModifierForm, RelativeForm } from './RangeForms';
import styles from './TimeRangePicker.module.css';
import { absoluteParts, PRESETS, relativeParts, sameRange, type TimeRange } from './timeRange';
import { knownZones } from './zone';

export interface TimeRangePanelProps {
  range: TimeRange;
  zone: string;
  onZone: (zone: string) => void;
  onChoose: (range: TimeRange) => void;
}

const ZONES = knownZones();

function fittingTab(range: TimeRange): string {
  if (absoluteParts(range)) return 'between';
  return relativeParts(range) ? 'last' : 'modifiers';
}

export default function TimeRangePanel({ range, zone, onZone, onChoose }: TimeRangePanelProps) {
  return (
    <>
      <div className={styles.presets}>
        {PRESETS.map((preset) => (
          <button
            key={preset.label}
            type="button"
            aria-pressed={sameRange(preset.range, range)}
            onClick={() => onChoose(preset.range)}
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
            <RelativeForm range={range} onApply={onChoose} />
          </Tabs.Panel>
          <Tabs.Panel value="between">
            <AbsoluteForm key={zone} range={range} zone={zone} onApply={onChoose} />
          </Tabs.Panel>
          <Tabs.Panel value="modifiers">
            <ModifierForm range={range} onApply={onChoose} />
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
          onChange={(next) => next && onZone(next)}
          comboboxProps={{ withinPortal: false }}
        />
      </div>
    </>
  );
}

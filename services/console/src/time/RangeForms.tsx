/** The three forms of the time range picker. Each starts from the range at hand. */

import { Button, Checkbox, NativeSelect, NumberInput, TextInput } from '@mantine/core';
import { type FormEvent, type ReactNode, useState } from 'react';
import styles from './TimeRangePicker.module.css';
import {
  absoluteParts,
  absoluteRange,
  isTimeModifier,
  lastUnits,
  relativeParts,
  type TimeRange,
  UNITS,
  type Unit,
} from './timeRange';
import { epochToWall, inputToWall, wallToEpoch, wallToInput } from './zone';

interface FormProps {
  range: TimeRange;
  onApply: (range: TimeRange) => void;
}

interface RangeFormProps {
  problem: string | null;
  onSubmit: () => void;
  children: ReactNode;
}

function RangeForm({ problem, onSubmit, children }: RangeFormProps) {
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (problem === null) onSubmit();
  };
  return (
    <form className={styles.form} onSubmit={submit}>
      {children}
      <div className={styles.apply}>
        <span role="alert">{problem}</span>
        <Button type="submit" size="xs" disabled={problem !== null}>
          Apply
        </Button>
      </div>
    </form>
  );
}

export function RelativeForm({ range, onApply }: FormProps) {
  const parts = relativeParts(range) ?? { amount: 60, unit: 'm' as Unit, snap: false };
  const [amount, setAmount] = useState<string | number>(parts.amount);
  const [unit, setUnit] = useState<Unit>(parts.unit);
  const [snap, setSnap] = useState(parts.snap);
  const number = Number(amount);
  const problem = Number.isInteger(number) && number > 0 ? null : 'A whole number, 1 or more';
  const name = UNITS.find((candidate) => candidate.unit === unit)?.one;
  return (
    <RangeForm problem={problem} onSubmit={() => onApply(lastUnits(number, unit, snap))}>
      <div className={styles.pair}>
        <NumberInput
          size="xs"
          label="Last"
          min={1}
          allowDecimal={false}
          value={amount}
          onChange={setAmount}
        />
        <NativeSelect
          size="xs"
          label="Unit"
          data={UNITS.map((candidate) => ({ value: candidate.unit, label: candidate.many }))}
          value={unit}
          onChange={(event) => setUnit(event.currentTarget.value as Unit)}
        />
      </div>
      <Checkbox
        size="xs"
        label={`From the beginning of the ${name}`}
        checked={snap}
        onChange={(event) => setSnap(event.currentTarget.checked)}
      />
    </RangeForm>
  );
}

export function AbsoluteForm({ range, zone, onApply }: FormProps & { zone: string }) {
  const nowSeconds = Math.floor(Date.now() / 1000);
  const parts = absoluteParts(range) ?? { start: nowSeconds - 3600, end: nowSeconds };
  const [start, setStart] = useState(() => wallToInput(epochToWall(parts.start, zone)));
  const [end, setEnd] = useState(() => wallToInput(epochToWall(parts.end, zone)));
  const startWall = inputToWall(start);
  const endWall = inputToWall(end);
  const bounds = startWall &&
    endWall && { start: wallToEpoch(startWall, zone), end: wallToEpoch(endWall, zone) };
  const problem = absoluteProblem(bounds);
  const apply = () => bounds && onApply(absoluteRange(bounds.start, bounds.end));
  return (
    <RangeForm problem={problem} onSubmit={apply}>
      <TextInput
        size="xs"
        type="datetime-local"
        step={1}
        label="From"
        value={start}
        onChange={(event) => setStart(event.currentTarget.value)}
      />
      <TextInput
        size="xs"
        type="datetime-local"
        step={1}
        label="Until (not included)"
        value={end}
        onChange={(event) => setEnd(event.currentTarget.value)}
      />
    </RangeForm>
  );
}

function absoluteProblem(bounds: { start: number; end: number } | null): string | null {
  if (!bounds) return 'Both need a date and a time';
  return bounds.start < bounds.end ? null : 'The end must be after the start';
}

export function ModifierForm({ range, onApply }: FormProps) {
  const [earliest, setEarliest] = useState(range.earliest);
  const [latest, setLatest] = useState(range.latest);
  const wrong = [earliest, latest].find((text) => !isTimeModifier(text.trim()));
  const problem = wrong === undefined ? null : `'${wrong}' is not a time modifier`;
  const apply = () => onApply({ earliest: earliest.trim(), latest: latest.trim() });
  return (
    <RangeForm problem={problem} onSubmit={apply}>
      <TextInput
        size="xs"
        label="Earliest"
        placeholder="unbounded"
        value={earliest}
        onChange={(event) => setEarliest(event.currentTarget.value)}
      />
      <TextInput
        size="xs"
        label="Latest"
        placeholder="unbounded"
        value={latest}
        onChange={(event) => setLatest(event.currentTarget.value)}
      />
      <p className={styles.help}>
        <code>-15m</code> <code>-1d@d</code> <code>@w1</code> <code>now</code> or epoch seconds.
        Units: s m h d w mon q y; <code>@</code> snaps down, in the server's zone.
      </p>
    </RangeForm>
  );
}

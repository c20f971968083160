/** The three forms of the time range picker. Each starts from the range at hand. */

import { ActionIcon, Button, Checkbox, NativeSelect, NumberInput, TextInput } from '@mantine/core';
import { IconCalendar } from '@tabler/icons-react';
import { type FormEvent, type ReactNode, useRef, useState } from 'react';
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
import { formatMoment, momentProblem, parseMoment } from './zone';

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
  const [start, setStart] = useState(() => formatMoment(parts.start, zone));
  const [end, setEnd] = useState(() => formatMoment(parts.end, zone));
  const from = parseMoment(start, zone);
  const until = parseMoment(end, zone);
  const apply = () => {
    if (from !== null && until !== null) onApply(absoluteRange(from, until));
  };
  const isEmpty = from !== null && until !== null && from >= until;
  const problem =
    momentProblem(start, zone) ??
    momentProblem(end, zone) ??
    (isEmpty ? 'The end must be after the start' : null);
  return (
    <RangeForm problem={problem} onSubmit={apply}>
      <MomentInput label="From" value={start} onChange={setStart} />
      <MomentInput label="Until (not included)" value={end} onChange={setEnd} />
    </RangeForm>
  );
}

interface MomentInputProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
}

/** A moment to type or paste, with the browser's calendar behind a button. */
function MomentInput({ label, value, onChange }: MomentInputProps) {
  const picker = useRef<HTMLInputElement>(null);
  return (
    <TextInput
      size="xs"
      label={label}
      value={value}
      spellCheck={false}
      classNames={{ input: styles.moment }}
      onChange={(event) => onChange(event.currentTarget.value)}
      rightSection={
        <>
          <input
            ref={picker}
            className={styles.picker}
            type="datetime-local"
            step={1}
            tabIndex={-1}
            aria-hidden="true"
            value={value.trim().slice(0, 19).replace(' ', 'T')}
            onChange={(event) => {
              const picked = event.currentTarget.value.replace('T', ' ');
              if (picked !== '') onChange(picked.length === 16 ? `${picked}:00` : picked);
            }}
          />
          <ActionIcon
            size="sm"
            aria-label={`Choose: ${label}`}
            onClick={() => picker.current?.showPicker()}
          >
            <IconCalendar size={14} />
          </ActionIcon>
        </>
      }
    />
  );
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
        Units: s m h d w mon q y; <code>@</code> snaps down, in the zone below.
      </p>
    </RangeForm>
  );
}

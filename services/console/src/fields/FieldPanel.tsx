/** A field's most frequent values, and what can be done with the field. */

import { Button } from '@mantine/core';
import { IconMinus, IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { FieldSummary } from '../api/types';
import { grouped, percent } from '../app/format';
import { Visible } from '../app/Visible';
import type { FieldActions } from '../events/EventsView';
import { QUICK_REPORTS } from '../query/rewrite';
import { cellNumber } from '../statistics/table';
import type { FieldButtonProps } from './FieldButton';
import styles from './FieldPanel.module.css';
import { isNumeric } from './fieldGroups';

export function FieldPanel(props: FieldButtonProps & { onClose: () => void }) {
  const { field, eventCount, isSelected, onToggle, onClose, actions } = props;
  const act = (action: () => void) => () => {
    onClose();
    action();
  };
  return (
    <div className={styles.panel} data-testid="field-panel">
      <header className={styles.header}>
        <h3>{field.name}</h3>
        <Button size="compact-xs" variant="default" onClick={() => onToggle(field.name)}>
          {isSelected ? 'Deselect' : 'Select'}
        </Button>
      </header>
      <p className={styles.facts}>
        {grouped(field.distinctCount)}
        {field.isExact ? '' : '+'} {field.distinctCount === 1 ? 'value' : 'values'} in{' '}
        {grouped(field.count)} events
        {eventCount > 0 && field.count <= eventCount && ` (${percent(field.count, eventCount)})`}
      </p>
      {isNumeric(field) && <Range field={field} />}
      {isNumeric(field) && actions.numbers && <Numbers field={field.name} load={actions.numbers} />}
      <div className={styles.reports}>
        {QUICK_REPORTS.filter((quick) => !quick.numeric || isNumeric(field)).map((quick) => (
          <button
            key={quick.report}
            type="button"
            data-testid={`report-${quick.report}`}
            onClick={act(() => actions.report(field.name, quick.report))}
          >
            {quick.label}
          </button>
        ))}
        <button type="button" onClick={act(() => actions.require(field.name))}>
          Only events with this field
        </button>
      </div>
      <TopValues {...props} />
    </div>
  );
}

function Range({ field }: { field: FieldSummary }) {
  const facts = [
    ['min', field.min],
    ['mean', field.mean],
    ['max', field.max],
  ].filter((fact): fact is [string, number] => fact[1] !== undefined);
  if (facts.length === 0) return null;
  return (
    <p className={styles.facts}>
      {facts.map(([name, value]) => `${name} ${grouped(value)}`).join(' · ')}
    </p>
  );
}

const NUMBER_NAMES: Record<string, string> = {
  min: 'minimum',
  avg: 'mean',
  median: 'median',
  p95: '95 % are below',
  max: 'maximum',
  stdev: 'standard deviation',
  sum: 'sum',
};

/** Statistics of all events of the search, on demand: they need a search of their own. */
function Numbers(props: { field: string; load: NonNullable<FieldActions['numbers']> }) {
  const [isWanted, setWanted] = useState(false);
  const { data, error, isFetching } = useQuery({
    queryKey: ['numbers', props.field, props.load],
    enabled: isWanted,
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: () => props.load(props.field),
  });
  if (!data) {
    return (
      <p className={styles.facts} role={error ? 'alert' : undefined}>
        {error ? error.message : null}
        <Button
          size="compact-xs"
          variant="default"
          loading={isFetching}
          onClick={() => setWanted(true)}
          data-testid="field-numbers"
        >
          Mean, median, 95 % …
        </Button>
      </p>
    );
  }
  return (
    <dl className={styles.numbers} data-testid="numbers">
      {data.fields.map((name, at) => {
        const value = cellNumber(data.rows[0]?.[at] ?? null);
        return (
          <div key={name}>
            <dt>{NUMBER_NAMES[name] ?? name}</dt>
            <dd>{value === null ? '–' : grouped(Math.round(value * 1_000) / 1_000)}</dd>
          </div>
        );
      })}
    </dl>
  );
}

function TopValues({ field, actions, onClose }: FieldButtonProps & { onClose: () => void }) {
  const highest = field.modes[0]?.count ?? 1;
  return (
    <table className={styles.values}>
      <caption>
        {field.modes.length < field.distinctCount ? `Top ${field.modes.length} values` : 'Values'}
      </caption>
      <tbody>
        {field.modes.map(({ value, count }) => (
          <tr key={value}>
            <td className={styles.value}>
              <button
                type="button"
                title={`Add ${field.name}=${value} to search`}
                onClick={() => {
                  onClose();
                  actions.add(field.name, value);
                }}
              >
                {value === '' ? <i>empty</i> : <Visible text={value} />}
              </button>
            </td>
            <td className={styles.number}>{grouped(count)}</td>
            <td className={styles.number}>{percent(count, field.count)}</td>
            <td className={styles.share}>
              <div style={{ width: `${(100 * count) / highest}%` }} />
            </td>
            <td className={styles.buttons}>
              <button
                type="button"
                title="Add to search"
                aria-label={`Add ${value} to search`}
                onClick={() => {
                  onClose();
                  actions.add(field.name, value);
                }}
              >
                <IconPlus size={12} />
              </button>
              <button
                type="button"
                title="Exclude from search"
                aria-label={`Exclude ${value} from search`}
                onClick={() => {
                  onClose();
                  actions.exclude(field.name, value);
                }}
              >
                <IconMinus size={12} />
              </button>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

import { useState } from 'react';
import { explainJobError } from '../api/explain';
import type { FieldSummary, Summary } from '../api/types';
import { FilterInput } from '../app/FilterInput';
import { grouped } from '../app/format';
import type { FieldActions } from '../events/EventsView';
import type { Loaded } from '../search/useLoaded';
import { FieldButton } from './FieldButton';
import styles from './FieldList.module.css';
import { groupFields } from './fieldGroups';

interface FieldListProps {
  summary: Loaded<Summary>;
  selected: string[];
  onToggle: (field: string) => void;
  actions: FieldActions;
}

/** The fields of the events found, with how many values each has. */
export function FieldList({ summary, selected, onToggle, actions }: FieldListProps) {
  const [filter, setFilter] = useState('');
  const [showOthers, setShowOthers] = useState(false);
  const groups = groupFields(summary.value?.fields ?? [], selected, filter);
  const eventCount = summary.value?.eventCount ?? 0;
  const common = { eventCount, selected, onToggle, actions };
  const isFiltered = filter.trim() !== '';
  return (
    <aside className={styles.list} aria-label="Fields" data-testid="fields">
      <FilterInput
        label="Filter fields"
        placeholder="Filter fields"
        value={filter}
        onChange={setFilter}
      />
      {summary.error && <p className={styles.problem}>{explainJobError(summary.error)}</p>}
      <Group title="Selected" fields={groups.selected} {...common} />
      <Group title="Interesting" fields={groups.interesting} {...common} />
      {groups.others.length > 0 &&
        (showOthers || isFiltered ? (
          <Group title="In few events" fields={groups.others} {...common} />
        ) : (
          <button type="button" className={styles.more} onClick={() => setShowOthers(true)}>
            {groups.others.length} more
          </button>
        ))}
    </aside>
  );
}

interface GroupProps extends Omit<FieldListProps, 'summary'> {
  eventCount: number;
  title: string;
  fields: FieldSummary[];
}

/**
 * Fields of a group that are drawn at first, and more at a time: 5,000 at once stopped the page for
 * seconds.
 */
const AT_FIRST = 100;
const MORE = 300;

function Group({ title, fields, selected, ...common }: GroupProps) {
  const [most, setMost] = useState(AT_FIRST);
  if (fields.length === 0) return null;
  const left = fields.length - most;
  return (
    <section>
      <h2 className={styles.title}>{title}</h2>
      <ul className={styles.fields}>
        {fields.slice(0, most).map((field) => (
          <li key={field.name}>
            <FieldButton field={field} isSelected={selected.includes(field.name)} {...common} />
          </li>
        ))}
      </ul>
      {left > 0 && (
        <button type="button" className={styles.more} onClick={() => setMost(most + MORE)}>
          {grouped(left)} more: filter, or show {Math.min(left, MORE)}
        </button>
      )}
    </section>
  );
}

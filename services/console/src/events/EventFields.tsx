import { Menu } from '@mantine/core';
import { IconCopy, IconMinus, IconPlus } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import type { EventRow } from '../api/types';
import { grouped } from '../app/format';
import { Visible } from '../app/Visible';
import styles from './EventFields.module.css';
import type { FieldActions } from './EventsView';
import { fieldNames, valuesOf } from './values';

interface EventFieldsProps {
  event: EventRow;
  actions: FieldActions;
}

/** More fields are shown when asked for. */
const SHOWN_FIELDS = 200;

/** Every field of an event, each value with what can be done with it. */
export function EventFields({ event, actions }: EventFieldsProps) {
  const [isWhole, setWhole] = useState(false);
  const names = fieldNames(event);
  const shown = isWhole ? names : names.slice(0, SHOWN_FIELDS);
  return (
    <table className={styles.fields} data-testid="event-fields">
      <thead>
        <tr>
          <th scope="col">Field</th>
          <th scope="col">Value</th>
        </tr>
      </thead>
      <tbody>
        {shown.map((field) => (
          <tr key={field}>
            <th scope="row">
              <Visible text={field} />
            </th>
            <td>
              {valuesOf(event, field).map((value, index) => (
                // biome-ignore lint/suspicious/noArrayIndexKey: a value may occur more than once
                <div key={index} className={styles.value}>
                  <span>
                    <Visible text={value} />
                  </span>
                  <ValueButtons field={field} value={value} actions={actions} />
                </div>
              ))}
            </td>
          </tr>
        ))}
        {shown.length < names.length && (
          <tr>
            <td colSpan={2}>
              <button type="button" className={styles.more} onClick={() => setWhole(true)}>
                Show all {grouped(names.length)} fields
              </button>
            </td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

interface ValueProps {
  field: string;
  value: string;
  actions: FieldActions;
}

function ValueButtons({ field, value, actions }: ValueProps) {
  const of = `${field}=${value}`;
  return (
    <span className={styles.buttons}>
      <button
        type="button"
        title="Add to search"
        aria-label={`Add ${of} to search`}
        data-testid={`add-${field}`}
        onClick={() => actions.add(field, value)}
      >
        <IconPlus size={12} />
      </button>
      <button
        type="button"
        title="Exclude from search"
        aria-label={`Exclude ${of} from search`}
        data-testid={`exclude-${field}`}
        onClick={() => actions.exclude(field, value)}
      >
        <IconMinus size={12} />
      </button>
    </span>
  );
}

/** A value that opens its actions when clicked. */
export function ValueMenu({
  field,
  value,
  actions,
  children,
}: ValueProps & { children: ReactNode }) {
  return (
    <Menu position="bottom-start">
      <Menu.Target>
        <button type="button">{children}</button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item leftSection={<IconPlus size={13} />} onClick={() => actions.add(field, value)}>
          Add to search
        </Menu.Item>
        <Menu.Item
          leftSection={<IconMinus size={13} />}
          onClick={() => actions.exclude(field, value)}
        >
          Exclude from search
        </Menu.Item>
        <Menu.Item
          leftSection={<IconCopy size={13} />}
          onClick={() => void navigator.clipboard?.writeText(value)}
        >
          Copy value
        </Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

/** What can be done with a cell of a report, at the place of the click. */

import { Menu } from '@mantine/core';
import { IconCopy, IconListSearch } from '@tabler/icons-react';
import { useZone } from '../app/preferences';
import { type Behind, eventsOfCell } from './drilldown';
import { cellText, type Row, type Table } from './table';

/** Where a click was. */
export interface Spot {
  left: number;
  top: number;
}

interface CellMenuProps {
  spot: Spot;
  query: string;
  table: Table;
  row: Row;
  column: number;
  onEvents: (behind: Behind) => void;
  onClose: () => void;
}

export default function CellMenu(props: CellMenuProps) {
  const { spot, query, table, row, column, onEvents, onClose } = props;
  const [zone] = useZone();
  const behind = eventsOfCell(query, table, row, column, zone);
  const value = cellText(row[column] ?? null);
  return (
    <Menu opened position="bottom-start" onChange={(isOpen) => !isOpen && onClose()}>
      <Menu.Target>
        <span style={{ position: 'fixed', ...spot }} />
      </Menu.Target>
      <Menu.Dropdown data-testid="cell-menu">
        {behind && (
          <Menu.Item leftSection={<IconListSearch size={13} />} onClick={() => onEvents(behind)}>
            Show the events
          </Menu.Item>
        )}
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

/** What can be done with a cell of a report, at the place of the click. */

import { Menu } from '@mantine/core';
import { IconCopy, IconListSearch } from '@tabler/icons-react';

/** Where a click was. */
export interface Spot {
  left: number;
  top: number;
}

interface CellMenuProps {
  spot: Spot;
  value: string;
  onEvents: () => void;
  onClose: () => void;
}

export default function CellMenu({ spot, value, onEvents, onClose }: CellMenuProps) {
  return (
    <Menu opened position="bottom-start" onChange={(isOpen) => !isOpen && onClose()}>
      <Menu.Target>
        <span style={{ position: 'fixed', ...spot }} />
      </Menu.Target>
      <Menu.Dropdown data-testid="cell-menu">
        <Menu.Item leftSection={<IconListSearch size={13} />} onClick={onEvents}>
          Show the events
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

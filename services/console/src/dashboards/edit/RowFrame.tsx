/** What the editor puts around a row: places to drop a panel, and buttons that add one. */

import { Button, Menu } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { type ReactNode, useState } from 'react';
import type { Editing } from '../DashboardContext';
import type { Row } from '../model/types';
import body from '../pages/DashboardBody.module.css';
import styles from './Editing.module.css';
import { KIND_NAMES } from './fields';
import type { PanelKind } from './operations';

interface RowFrameProps {
  editing: Editing;
  row: Row;
  at: number;
  children: ReactNode;
}

export function RowFrame({ editing, row, at, children }: RowFrameProps) {
  const isOpen = !row.isGrouped && row.place[0] !== row.panels[0]?.place[0];
  return (
    <>
      <Gap editing={editing} at={at} />
      <div id={row.id ?? undefined} className={`${body.row} ${styles.row} dashboard-row`}>
        {children}
        {isOpen && (
          <AddMenu
            label={`Add a panel to row ${at + 1}`}
            isSlim
            onAdd={(kind) => editing.add(kind, { row: at })}
          />
        )}
      </div>
      {row.isGrouped && (
        <p className={styles.hint}>
          The panels of this row are made by <code>grouping</code>: change it in the source.
        </p>
      )}
    </>
  );
}

export function RowEnd({ editing, rows }: { editing: Editing; rows: number }) {
  return (
    <>
      <Gap editing={editing} at={rows} />
      {rows === 0 && <p className={styles.empty}>There are no panels yet.</p>}
      <AddMenu label="Add a panel in a new row" onAdd={(kind) => editing.add(kind, {})} />
    </>
  );
}

/** Between two rows: a panel that is dropped here gets a row of its own. */
function Gap({ editing, at }: { editing: Editing; at: number }) {
  const [isOver, setOver] = useState(false);
  const { dragged } = editing;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys move panels by their handles
    <div
      className={styles.gap}
      data-open={dragged !== null}
      data-over={dragged !== null && isOver}
      onDragOver={(event) => {
        if (dragged === null) return;
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        if (dragged === null) return;
        event.preventDefault();
        setOver(false);
        editing.move(dragged, { newRow: at });
      }}
    />
  );
}

interface AddMenuProps {
  label: string;
  isSlim?: boolean;
  onAdd: (kind: PanelKind) => void;
}

function AddMenu({ label, isSlim = false, onAdd }: AddMenuProps) {
  return (
    <Menu position="bottom-end" withinPortal>
      <Menu.Target>
        {isSlim ? (
          <button type="button" className={styles.slim} aria-label={label} title={label}>
            <IconPlus size={15} aria-hidden="true" />
          </button>
        ) : (
          <Button
            variant="default"
            size="compact-sm"
            leftSection={<IconPlus size={14} />}
            data-testid="add-panel"
          >
            {label}
          </Button>
        )}
      </Menu.Target>
      <Menu.Dropdown>
        {KIND_NAMES.map(([kind, name]) => (
          <Menu.Item key={kind} onClick={() => onAdd(kind as PanelKind)}>
            {name}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

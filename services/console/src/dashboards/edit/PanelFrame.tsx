/** What the editor puts around a panel: choose, move, copy, remove; its lower edge sets the height. */

import { ActionIcon, Menu } from '@mantine/core';
import { IconCopy, IconDots, IconGripVertical, IconTrash } from '@tabler/icons-react';
import { type ReactNode, useEffect, useRef, useState } from 'react';
import type { Editing } from '../DashboardContext';
import { HEIGHTS } from '../elements/heights';
import type { Panel } from '../model/types';
import { pixels } from '../model/values';
import styles from './Editing.module.css';
import type { Direction } from './operations';

const STEPS: Record<string, Direction> = {
  ArrowLeft: 'left',
  ArrowRight: 'right',
  ArrowUp: 'up',
  ArrowDown: 'down',
};
const WORDS: [Direction, string][] = [
  ['left', 'Move left'],
  ['right', 'Move right'],
  ['up', 'Move up'],
  ['down', 'Move down'],
];

interface PanelFrameProps {
  panel: Panel;
  editing: Editing;
  /** The row it is in, and its place there. */
  row: number;
  index: number;
  children: ReactNode;
}

export const panelName = (panel: Panel): string =>
  panel.title ||
  panel.elements.find((element) => element.title)?.title ||
  (panel.reference ? `Panel ${panel.reference.name}` : (panel.elements[0]?.written ?? 'Panel'));

export function PanelFrame({ panel, editing, row, index, children }: PanelFrameProps) {
  const [place] = panel.place;
  const name = panelName(panel);
  const isSelected = editing.selected === place;
  const grip = useRef<HTMLButtonElement>(null);
  const [side, setSide] = useState<'before' | 'after' | null>(null);
  const wantsFocus = editing.focused === place;
  useEffect(() => {
    if (wantsFocus) grip.current?.focus();
  }, [wantsFocus]);
  const isTarget = editing.dragged !== null && editing.dragged !== place;
  const sideOf = (event: React.DragEvent) => {
    const bounds = event.currentTarget.getBoundingClientRect();
    return event.clientX < bounds.left + bounds.width / 2 ? 'before' : 'after';
  };
  const hidden = [...panel.depends, ...panel.rejects];
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: its buttons do the same by keys
    // biome-ignore lint/a11y/useKeyWithClickEvents: the button of its name does the same
    <div
      className={styles.frame}
      data-testid="panel-frame"
      data-selected={isSelected}
      data-dragged={editing.dragged === place}
      data-side={isTarget ? side : null}
      onClick={() => editing.select(place)}
      onDragOver={(event) => {
        if (!isTarget) return;
        event.preventDefault();
        setSide(sideOf(event));
      }}
      onDragLeave={() => setSide(null)}
      onDrop={(event) => {
        if (!isTarget || editing.dragged === null) return;
        event.preventDefault();
        setSide(null);
        editing.move(editing.dragged, { row, index: index + (sideOf(event) === 'after' ? 1 : 0) });
      }}
    >
      <div className={styles.bar}>
        <button
          ref={grip}
          type="button"
          className={styles.grip}
          draggable
          aria-label={`Move ${name}: arrow keys, or drag`}
          title="Drag, or arrow keys"
          onDragStart={(event) => {
            event.dataTransfer.effectAllowed = 'move';
            event.dataTransfer.setData('text/plain', name);
            editing.drag(place);
          }}
          onDragEnd={() => editing.drag(null)}
          onKeyDown={(event) => {
            const step = STEPS[event.key];
            if (!step || event.ctrlKey || event.metaKey || event.altKey) return;
            event.preventDefault();
            editing.step(place, step);
          }}
        >
          <IconGripVertical size={15} aria-hidden="true" />
        </button>
        <button
          type="button"
          className={styles.name}
          aria-pressed={isSelected}
          onClick={() => editing.select(place)}
        >
          {name}
        </button>
        {hidden.length > 0 && (
          <span className={styles.hint} title={hidden.map((token) => `$${token}$`).join(', ')}>
            not always shown
          </span>
        )}
        {/* biome-ignore lint/a11y/noStaticElementInteractions: its menu is no choice of the panel */}
        {/* biome-ignore lint/a11y/useKeyWithClickEvents: nothing to do */}
        <span onClick={(event) => event.stopPropagation()}>
          <Menu position="bottom-end" withinPortal>
            <Menu.Target>
              <ActionIcon size={24} aria-label={`Edit ${name}`}>
                <IconDots size={15} />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              {WORDS.map(([direction, words]) => (
                <Menu.Item
                  key={direction}
                  disabled={!editing.canStep(place, direction)}
                  onClick={() => editing.step(place, direction)}
                >
                  {words}
                </Menu.Item>
              ))}
              <Menu.Divider />
              <Menu.Item leftSection={<IconCopy size={14} />} onClick={() => editing.copy(place)}>
                Duplicate
              </Menu.Item>
              <Menu.Item
                color="red"
                leftSection={<IconTrash size={14} />}
                onClick={() => editing.remove(place)}
              >
                Remove
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
        </span>
      </div>
      <div className={styles.content} inert>
        {children}
      </div>
      <Resize panel={panel} editing={editing} />
    </div>
  );
}

/** Kinds whose height is an option. */
const HIGH = new Set(['chart', 'single', 'map', 'table', 'unsupported']);
const LEAST = 60;
const MOST = 2_000;
/** Pixels of one key. */
const STEP = 20;

interface ResizeProps {
  panel: Panel;
  editing: Editing;
}

/** The lower edge: of a panel with one element that has a height. */
function Resize({ panel, editing }: ResizeProps) {
  const [element] = panel.elements;
  const [drag, setDrag] = useState<{ from: number; height: number } | null>(null);
  // A key may come before the one before it is drawn.
  const latest = useRef<{ shown: number; height: number } | null>(null);
  if (!element || panel.elements.length !== 1 || !HIGH.has(element.kind)) return null;
  const written = pixels(element.options.get('height'));
  const shown = written ?? HEIGHTS[element.kind] ?? 180;
  if (latest.current?.shown !== shown) latest.current = { shown, height: shown };
  const now = latest.current;
  const set = (height: number) => {
    now.height = Math.min(MOST, Math.max(LEAST, Math.round(height)));
    editing.resize(element.place[0], now.height);
  };
  return (
    // biome-ignore lint/a11y/useSemanticElements: a rule cannot be moved
    <div
      className={styles.resize}
      role="separator"
      aria-orientation="horizontal"
      aria-label={`Height of ${panelName(panel)}`}
      aria-valuenow={shown}
      aria-valuemin={LEAST}
      aria-valuemax={MOST}
      tabIndex={0}
      onKeyDown={(event) => {
        const by = event.key === 'ArrowDown' ? STEP : event.key === 'ArrowUp' ? -STEP : 0;
        if (by === 0) return;
        event.preventDefault();
        set(now.height + by);
      }}
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        setDrag({ from: event.clientY, height: shown });
      }}
      onPointerMove={(event) => {
        if (!drag) return;
        const to = Math.max(LEAST, drag.height + event.clientY - drag.from);
        event.currentTarget.dataset.to = `${Math.round(to)} px`;
      }}
      onPointerUp={(event) => {
        if (!drag) return;
        delete event.currentTarget.dataset.to;
        set(drag.height + event.clientY - drag.from);
        setDrag(null);
      }}
    />
  );
}
